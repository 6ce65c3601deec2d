// Looking at a server again and again until something is over: drain, and group with --wait.

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
  bool has_limit = false;  // Otherwise it gives up never, and wait_ms is nothing.
  std::uint64_t interval_ms = 500;
  bool quiet = false;
};

// --interval and --quiet. What gives it a limit differs.
void add_watching_flags(Errand& errand, Watching& to);

// What was seen at a moment.
struct Look {
  bool is_over = false;
  std::uint64_t jobs_left = 0;
  // Is printed whenever it is another one, but not with --json. Empty: nothing is.
  std::string line;
};

// Looks until it is over, or until nobody reads the lines any more; at the latest until the first
// look after the limit. Returns how long that took. Nothing: a look was nothing, because the server
// failed.
std::optional<Duration> watch(Errand& errand, const Watching& choice,
                              const std::function<std::optional<Look>()>& look);

}  // namespace haricot::tool
