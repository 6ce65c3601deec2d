// Results of a benchmark, as text for people and as JSON for programs.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tool/bench/bench_options.hpp"
#include "tool/bench/load.hpp"
#include "tool/client/server_process.hpp"

namespace haricot::tool {

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

}  // namespace haricot::tool
