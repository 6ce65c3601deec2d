// Deleting the jobs of a tube that are in some states: the question beforehand, and the way by
// peeking and deleting, which any server knows.

#pragma once

#include <cstdint>
#include <string>

#include "tool/client/errand.hpp"
#include "tool/commands/job_round.hpp"
#include "tool/commands/tube_choice.hpp"

namespace haricot::tool {

struct TubeClearing {
  std::string tube;
  PlaceFlags places;
  std::uint64_t count;  // At most so many jobs.
};

// Asks at the terminal whether the jobs that `stats` counts are to go.
bool is_confirmed(const TubeClearing& clearing, const StatsText& stats);

// Deletes what peek shows, one job after the other, and only jobs that were peeked. Of each state,
// at most as many jobs go as `stats` counts: so it comes to an end although producers go on. Adds
// each job to the round. False: the server failed, and its failure() says why. Requires: the tube
// is used.
[[nodiscard]] bool delete_peeked(Errand& errand, const TubeClearing& clearing,
                                 const StatsText& stats, JobRound& round);

}  // namespace haricot::tool
