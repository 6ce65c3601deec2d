// The command line of `haricot bench` as a value.

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "haricot/base/time.hpp"
#include "tool/cli/subcommand.hpp"

namespace haricot::tool {

enum class Workload : std::uint8_t {
  put,    // Puts.
  take,   // Reserves and deletes jobs that were put before.
  cycle,  // Puts, reserves and deletes.
};

std::string_view name_of(Workload workload);

// Choice of the tubes that a connection reserves from. The modes are commands of haricotd only.
enum class ReserveMode : std::uint8_t {
  own_tube,  // From its own tube, without a mode.
  fifo,      // From all tubes of the load, always the best job.
  weighted,  // From all tubes of the load, in proportion to the weights 1, 2, 3, 4, 1, …
};

std::string_view name_of(ReserveMode mode);

// Jobs, tubes and connections that the server holds during the measurement, besides the load.
struct Surroundings {
  std::uint64_t ready = 0;             // Jobs in the tubes of the load, older than its own.
  std::uint64_t delayed = 0;           // Jobs in the tubes of the load.
  std::uint64_t idle_tubes = 0;        // Tubes with one job each.
  std::uint64_t waiting = 0;           // Waiting workers, each on a tube of its own.
  std::uint64_t waiting_together = 0;  // Waiting workers, all on one other tube.
  std::uint64_t idle_connections = 0;
};

struct BenchOptions {
  enum class Action : std::uint8_t { run, show_help };

  Action action = Action::run;
  std::string address;
  std::string other_address;    // A second server for a comparison; empty if none.
  std::uint64_t addresses = 0;  // Number of addresses given.
  Workload workload = Workload::cycle;
  std::uint64_t connections = 16;
  std::uint64_t depth = 1;  // Commands that a connection sends at once.
  std::uint64_t body_bytes = 100;
  std::uint64_t tubes = 1;          // Shared by the connections.
  std::uint64_t watched_tubes = 0;  // Empty tubes that each connection watches in addition.
  ReserveMode reserve_mode = ReserveMode::own_tube;
  bool unique = false;  // Gives each job a key, which only haricotd supports.
  Surroundings surroundings;

  std::uint64_t count = 0;  // Jobs to measure; 0 to measure for a time.
  std::uint64_t milliseconds = 5000;
  std::uint64_t warm_up = 0;  // Jobs before the measurement.
  std::uint64_t patience_ms = 10000;
  std::uint64_t interval_ms = 0;  // Interval of lines during the run; 0 for none.
  pid_t pid = 0;                  // Process of the server; 0 if unknown.
  bool json = false;
  bool keep = false;
  bool histogram = false;

  Duration patience() const {
    return Duration::milliseconds(static_cast<std::int64_t>(patience_ms));
  }
};

// Reads the words after `haricot bench`. On a mistake returns false and sets `error`.
[[nodiscard]] bool parse_bench_options(Words words, BenchOptions& options, std::string& error);

std::string bench_help();

}  // namespace haricot::tool
