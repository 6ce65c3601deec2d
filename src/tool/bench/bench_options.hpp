// The command line of `haricot bench`, as a value.

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "tool/cli/subcommand.hpp"

namespace haricot::tool {

enum class Workload : std::uint8_t {
  put,    // Puts.
  take,   // Reserves and deletes jobs that were put before.
  cycle,  // Puts, reserves and deletes.
};

std::string_view name_of(Workload workload);

// How connections reserve from several tubes. The modes are commands that only haricotd has.
enum class ReserveMode : std::uint8_t {
  own_tube,  // From one tube, each connection its own. No mode is asked for.
  fifo,      // From all tubes of the load, the best job of all.
  weighted,  // From all tubes of the load, shared out by the weights 1, 2, 3, 4, 1, …
};

std::string_view name_of(ReserveMode mode);

// What the server holds while it is measured, besides the load.
struct Surroundings {
  std::uint64_t ready = 0;             // Jobs in the tubes of the load, in front of its own.
  std::uint64_t delayed = 0;           // Jobs in the tubes of the load.
  std::uint64_t idle_tubes = 0;        // Tubes with one job each.
  std::uint64_t waiting = 0;           // Workers that wait, each on a tube of its own.
  std::uint64_t waiting_together = 0;  // Workers that wait, all on one other tube.
  std::uint64_t idle_connections = 0;
};

struct BenchOptions {
  enum class Action : std::uint8_t { run, show_help };

  Action action = Action::run;
  std::string address;
  std::string other_address;    // A second server to compare the first one with; empty: none.
  std::uint64_t addresses = 0;  // How many were named.
  Workload workload = Workload::cycle;
  std::uint64_t connections = 16;
  std::uint64_t depth = 1;  // Commands that a connection sends at once.
  std::uint64_t body_bytes = 100;
  std::uint64_t tubes = 1;          // The connections share them out.
  std::uint64_t watched_tubes = 0;  // Empty ones, that each connection watches besides its own.
  ReserveMode reserve_mode = ReserveMode::own_tube;
  bool unique = false;  // Each job has a key of its own, which only haricotd knows.
  Surroundings surroundings;

  std::uint64_t count = 0;  // Jobs to be measured; 0: as many as fit into the time.
  std::uint64_t milliseconds = 5000;
  std::uint64_t warm_up = 0;  // Jobs before those.
  std::uint64_t patience_ms = 10000;
  std::uint64_t interval_ms = 0;  // Of lines while it runs; 0: none.
  pid_t pid = 0;                  // Of the server; 0: not known.
  bool json = false;
  bool keep = false;
  bool histogram = false;
};

// Reads the words after `haricot bench`. On a mistake returns false, and `error` says which.
[[nodiscard]] bool parse_bench_options(Words words, BenchOptions& options, std::string& error);

std::string bench_help();

}  // namespace haricot::tool
