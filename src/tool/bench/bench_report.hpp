// What a benchmark has found, as text for people and as JSON for programs.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tool/bench/bench_options.hpp"
#include "tool/bench/load.hpp"
#include "tool/bench/process_usage.hpp"

namespace haricot::tool {

struct BenchResult {
  std::string address;
  Tally tally;
  std::uint64_t client_cpu_ns = 0;
  // Of the server, if its process is known: before anything was done, and right before and after
  // the measurement.
  std::optional<ProcessUsage> at_first;
  std::optional<ProcessUsage> before;
  std::optional<ProcessUsage> after;
  bool was_interrupted = false;
  std::string clearing_error;  // Why something of bench is still there; empty: nothing is.
};

// The load in a few words.
std::string describe_load(const BenchOptions& options);

// Numbers that only make sense for commands or time that were there are 0 without.
std::string text_report(const BenchOptions& options, const BenchResult& result);

// One object on one line; times in microseconds.
std::string json_report(const BenchOptions& options, const BenchResult& result);

}  // namespace haricot::tool
