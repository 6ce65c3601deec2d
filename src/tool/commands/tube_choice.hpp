// Selection of a tube's jobs by state: flags, commands, and the use of the tube.

#pragma once

#include <optional>
#include <string>

#include "tool/client/errand.hpp"
#include "tool/client/job_move.hpp"
#include "tool/commands/job_round.hpp"

namespace haricot::tool {

// Returns peek-ready, peek-delayed or peek-buried.
std::string peek_command(Place place);
// Returns current-jobs-ready, -delayed or -buried.
std::string count_key(Place place);

// Adds the flags --ready, --delayed and --buried.
void add_place_flags(Errand& errand, PlaceFlags& flags);

// Checks that the operands are either ids, or a tube with --count or --all. On a mistake prints a
// message and returns the exit status.
std::optional<int> check_bound(const Errand& errand, const Subjects& subjects, bool has_count,
                               bool has_all);

// Uses the tube and returns its statistics. A tube that does not exist is not used, because that
// would create it. If the tube does not exist, or the server failed, prints a message, sets
// `status` and returns nothing.
std::optional<StatsText> use_tube(Errand& errand, const std::string& tube, int& status);
// Like use_tube() above, except that a tube that does not exist is no failure, for commands that
// change its jobs.
std::optional<StatsText> use_tube(JobRound& round, const std::string& tube, int& status);

}  // namespace haricot::tool
