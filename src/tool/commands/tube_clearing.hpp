// Deleting the jobs of a tube that are in some states, as delete and flush do it.

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
  std::uint64_t count = kAll;  // At most so many jobs.
  bool yes = false;            // Nobody is asked.
  bool quiet = false;
};

// The flags --yes and --quiet. `clearing` outlives the errand's read().
void add_clearing_flags(Errand& errand, TubeClearing& clearing);

// Whether somebody has said yes, or can be asked. Something: no, and this is the exit status; the
// message is printed. To be called before a server is asked.
std::optional<int> check_consent(const Errand& errand, const TubeClearing& clearing);

// Deletes the jobs that are there, and returns the exit status; what was done is printed. Asks at
// the terminal first, unless `yes`. All jobs of a state go by flush-tube, if the server has it: at
// once, and their keys are free. Otherwise it deletes what peek shows, one job after the other, and
// only jobs that were peeked: of each state, at most as many as there were. So it comes to an end
// although producers go on.
int clear_tube(Errand& errand, const TubeClearing& clearing);

}  // namespace haricot::tool
