#include "tool/commands/tube_choice.hpp"

namespace haricot::tool {

std::string peek_command(Place place) {
  return "peek-" + std::string(name_of(place));
}

std::string count_key(Place place) {
  return "current-jobs-" + std::string(name_of(place));
}

void add_place_flags(Errand& errand, PlaceFlags& flags) {
  errand.add({0, "ready", "", "ready jobs of the tube", set(flags.ready)});
  errand.add({0, "delayed", "", "delayed jobs of the tube", set(flags.delayed)});
  errand.add({0, "buried", "", "buried jobs of the tube", set(flags.buried)});
}

std::optional<int> check_bound(const Errand& errand, const Subjects& subjects, bool has_count,
                               bool has_all) {
  const bool has_tube = !subjects.tubes().empty();
  if (has_tube != subjects.ids().empty()) {
    return errand.mistake("requires either ids or a tube");
  }
  if (has_tube != (has_count || has_all) || (has_count && has_all)) {
    return errand.mistake("a tube requires --count or --all, ids exclude them");
  }
  return std::nullopt;
}

namespace {

// `round` is null if a missing tube is a failure.
std::optional<StatsText> use(Errand& errand, JobRound* round, const std::string& tube,
                             int& status) {
  bool is_there = false;
  std::optional<StatsText> stats = errand.server().ask_stats("stats-tube " + tube, is_there);
  if (!stats) {
    status = errand.failed();
    return std::nullopt;
  }
  if (!is_there) {
    status = round != nullptr ? round->end_without(tube) : errand.no("there is no tube " + tube);
    return std::nullopt;
  }
  if (!errand.server().ask("use " + tube, ReplyCode::now_using)) {
    status = errand.failed();
    return std::nullopt;
  }
  return stats;
}

}  // namespace

std::optional<StatsText> use_tube(Errand& errand, const std::string& tube, int& status) {
  return use(errand, nullptr, tube, status);
}

std::optional<StatsText> use_tube(JobRound& round, const std::string& tube, int& status) {
  return use(round.errand(), &round, tube, status);
}

}  // namespace haricot::tool
