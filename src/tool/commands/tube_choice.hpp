// Jobs of a tube that are meant by their state: how an operator says so, and whether there are any.

#pragma once

#include <optional>
#include <string>

#include "tool/client/errand.hpp"
#include "tool/client/place.hpp"
#include "tool/client/subjects.hpp"
#include "tool/commands/job_round.hpp"

namespace haricot::tool {

// peek-ready and the like.
std::string peek_command(Place place);
// current-jobs-ready and the like.
std::string count_key(Place place);

// --ready, --delayed and --buried.
void add_place_flags(Errand& errand, PlaceFlags& flags);

// Whether the line names either ids, or a tube and how many of its jobs: by --count or --all.
// Something: it does not, and this is the exit status; the message is printed.
std::optional<int> check_bound(const Errand& errand, const Subjects& subjects, bool has_count,
                               bool has_all);

// Uses the tube, if it is there: to use one that is not would make it. Returns its statistics.
// Nothing: the tube does not exist, or something failed. Then the message is printed, and `status`
// is the exit status.
std::optional<StatsText> use_tube(Errand& errand, const std::string& tube, int& status);
// The same for who does something to its jobs. That it does not exist is no failure.
std::optional<StatsText> use_tube(JobRound& round, const std::string& tube, int& status);

}  // namespace haricot::tool
