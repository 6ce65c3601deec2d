// Deletes the jobs of a tube in some states, for delete and flush.

#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "tool/client/errand.hpp"
#include "tool/commands/tube_choice.hpp"

namespace haricot::tool {

struct TubeClearing {
  static constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

  std::string tube;
  PlaceFlags places;
  std::uint64_t count = kAll;  // Largest number of jobs to delete.
  bool yes = false;            // Skips the confirmation.
  bool quiet = false;
};

// Adds the flags --yes and --quiet. Requires: `clearing` outlives the errand's read().
void add_clearing_flags(Errand& errand, TubeClearing& clearing);

// Checks that there is --yes or a terminal for the confirmation. Otherwise prints a message and
// returns the exit status. Must be called before connecting.
std::optional<int> check_consent(const Errand& errand, const TubeClearing& clearing);

// Deletes the jobs that exist at the start, prints the result and returns the exit status. Asks at
// the terminal first, unless `yes`. If all jobs of a state go, uses flush-tube if the server has
// it: one command, which also frees their keys. Otherwise deletes jobs one by one after a peek: in
// each state at most as many as there were at the start, so it ends although producers continue.
int clear_tube(Errand& errand, const TubeClearing& clearing);

}  // namespace haricot::tool
