// Polls a server until something has ended, for drain, and for group with --wait.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "haricot/base/time.hpp"
#include "tool/client/errand.hpp"

namespace haricot::tool {

struct Watching {
  std::uint64_t wait_ms = 0;
  bool has_limit = false;  // If false, it never gives up and wait_ms is not used.
  std::uint64_t interval_ms = 500;
  bool quiet = false;
};

// Adds --interval and --quiet. Each subcommand adds its own flag for the limit.
void add_watching_flags(Errand& errand, Watching& to);

// Result of one poll.
struct Look {
  bool is_over = false;
  std::uint64_t jobs_left = 0;
  // Printed when it changes, except with --json. Empty if there is nothing to print.
  std::string line;
};

// Polls until `look` reports the end, the output cannot be written, or the limit has passed.
// Returns the time taken, or nothing if a poll failed because of the server.
std::optional<Duration> watch(Errand& errand, const Watching& choice,
                              const std::function<std::optional<Look>()>& look);

}  // namespace haricot::tool
