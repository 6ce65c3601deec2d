// A comparison of two servers under the same load, in turns.

#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "tool/bench/bench_options.hpp"
#include "tool/bench/bench_report.hpp"

namespace haricot::tool {

// Results of both servers; those with the same index were measured one after the other.
struct Comparison {
  std::array<std::vector<BenchResult>, 2> turns;
};

// Returns the order of the servers in a turn. It alternates, so that slow changes of the machine
// affect both.
inline std::array<std::size_t, 2> order_of_turn(std::size_t turn) {
  return turn % 2 == 0 ? std::array<std::size_t, 2>{0, 1} : std::array<std::size_t, 2>{1, 0};
}

// Requires: both servers have the same number of turns, at least one.
std::string text_report(const BenchOptions& options, const Comparison& comparison);
// Returns one object on one line: "servers", an array for each server with the report of each turn,
// and "ratio", the second server relative to the first.
std::string json_report(const BenchOptions& options, const Comparison& comparison);

}  // namespace haricot::tool
