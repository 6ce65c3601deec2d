// Two servers under the same load, in turns.

#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "tool/bench/bench_options.hpp"
#include "tool/bench/bench_report.hpp"

namespace haricot::tool {

// Turn i of both belong together: they ran one after the other.
struct Comparison {
  std::array<std::vector<BenchResult>, 2> turns;
};

// Which server comes first in a turn: so what changes slowly on the machine is shared by both.
inline std::array<std::size_t, 2> order_of_turn(std::size_t turn) {
  return turn % 2 == 0 ? std::array<std::size_t, 2>{0, 1} : std::array<std::size_t, 2>{1, 0};
}

// Requires: as many turns of both, at least one.
std::string text_report(const BenchOptions& options, const Comparison& comparison);
// One object on one line: "servers", an array for each with the report of each turn, and "ratio",
// what the second one has for 1 of the first one.
std::string json_report(const BenchOptions& options, const Comparison& comparison);

}  // namespace haricot::tool
