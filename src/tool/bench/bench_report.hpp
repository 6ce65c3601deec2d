// Reports of a benchmark, as text for people and as JSON for programs: the results of one server, a
// comparison of two, and lines during the run.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "haricot/base/time.hpp"
#include "tool/bench/bench_options.hpp"
#include "tool/bench/load.hpp"
#include "tool/client/server_process.hpp"

namespace haricot::tool {

// Results of one server.
struct BenchResult {
  std::string address;
  Tally tally;
  std::uint64_t client_cpu_ns = 0;
  // Usage of the server, if its process is known: before the preparations, just before the
  // measurement, and just after it.
  std::optional<ProcessUsage> at_first;
  std::optional<ProcessUsage> before;
  std::optional<ProcessUsage> after;
  bool was_interrupted = false;
  std::string clearing_error;  // Reason why jobs of the benchmark are left; empty if none are.
};

// Describes the load in a few words.
std::string describe_load(const BenchOptions& options);

// Returns the report as text. Ratios without commands or time are 0.
std::string text_report(const BenchOptions& options, const BenchResult& result);

// Returns the report as one JSON object on one line; times are in microseconds.
std::string json_report(const BenchOptions& options, const BenchResult& result);

// Results of two servers under the same load, in turns; those with the same index were measured one
// after the other.
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

// Lines during a benchmark, each with the results since the previous line.
class IntervalReport final {
 public:
  // With `is_json`, each line is a JSON object with times in microseconds.
  IntervalReport(Duration interval, bool is_json)
      : interval_(interval), next_(interval), is_json_(is_json) {}

  // Returns the next line, at first after a line of titles, or nothing if it is too early.
  // Requires: `so_far` belongs to the same run in all calls, and only grows.
  std::optional<std::string> take(const Tally& so_far);

 private:
  Duration interval_;
  Duration next_;  // Since the beginning of the run.
  bool is_json_;
  bool has_title_ = false;
  Tally before_;
};

}  // namespace haricot::tool
