// haricot bury: sets jobs aside until they are kicked.

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tool/client/errand.hpp"
#include "tool/commands/job_actions.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "bury",
    "[OPTIONS] ID...\n"
    "     haricot bury [OPTIONS] TUBE --count N|--all\n"
    "     haricot bury [OPTIONS] [TUBE] FILTER...",
    "Sets jobs aside until they are kicked: the jobs with these ids, or ready jobs of a tube in\n"
    "the order of service. Reserves each job and buries it. A job keeps its priority unless\n"
    "--priority is given. Filters choose ready jobs of a tube, or of all tubes; with --state\n"
    "delayed they choose delayed ones. They require haricotd, and a terminal is asked for\n"
    "confirmation. Ids require a server with reserve-job (beanstalkd 1.12 or later).\n",
    "    haricot bury 17\n"
    "    haricot bury mail --count 10\n"};

struct Choice {
  std::uint64_t count = 0;
  bool all = false;
  bool yes = false;
  JobFilter filter;
  Ending ending{.fate = Fate::buried, .priority = {}, .delay_s = 0};
  bool quiet = false;
};

int bury_of_tube(Errand& errand, const std::string& tube, const Choice& choice) {
  JobRound round(errand, "buried", choice.quiet);
  int status = 0;
  const std::optional<StatsText> stats = use_tube(round, tube, status);
  if (!stats) return status;
  if (stats->number("pause-time-left").value_or(0) > 0) {
    return errand.no("tube " + tube +
                     " is paused, so its jobs cannot be reserved; end the pause, or bury by id");
  }
  if (!watch_only(errand, {tube})) return errand.failed();
  const std::uint64_t ready = stats->number(count_key(Place::ready)).value_or(0);
  const std::uint64_t bound = choice.all ? ready : std::min(ready, choice.count);
  for (std::uint64_t i = 0; i < bound; ++i) {
    const Outcome outcome = take_and_end(errand, "reserve-with-timeout 0", choice.ending);
    if (outcome == Outcome::failed) return round.fail();
    if (outcome == Outcome::gone) break;
    round.count();
  }
  return round.end("");
}

int bury_matches(Errand& errand, std::vector<std::string> tubes, const Choice& choice) {
  const MatchChange change{.verb = "Bury",
                           .done = "buried",
                           .tubes = std::move(tubes),
                           .states = choice.filter.states_or(kReady),
                           .count = choice.count > 0 ? choice.count : MatchChange::kAll,
                           .yes = choice.yes,
                           .quiet = choice.quiet};
  const auto act = [&](std::span<const ListedJob> jobs, JobRound& round) {
    for (const ListedJob& job : jobs) {
      const Outcome outcome =
          take_and_end(errand, "reserve-job " + std::to_string(job.id), choice.ending);
      if (outcome == Outcome::failed) return false;
      if (outcome == Outcome::done) round.count();
    }
    return true;
  };
  return change_matches(errand, choice.filter, change, act);
}

}  // namespace

int bury(Words words) {
  Errand errand(kText);
  Choice choice;
  Subjects subjects(errand);
  subjects.add_tube_flag();
  errand.add(count_flag("at most N jobs", choice.count));
  errand.add({0, "all", "", "all jobs that are ready at the start", set(choice.all)});
  add_priority_flag(errand, choice.ending);
  choice.filter.add_flags(errand, kReady | kDelayed);
  add_yes_flag(errand, choice.yes);
  JobRound::add_quiet_flag(errand, choice.quiet);
  if (const std::optional<int> over = errand.read(words)) return *over;
  if (const std::optional<int> over = subjects.take(1, Subjects::Ids::yes)) return *over;
  if (const std::optional<int> over =
          check_bound(errand, subjects, choice.count > 0, choice.all, choice.filter)) {
    return *over;
  }
  if (const std::optional<int> over = errand.connect()) return *over;
  if (choice.filter.is_given()) return bury_matches(errand, subjects.tubes(), choice);
  if (subjects.ids().empty()) return bury_of_tube(errand, subjects.tube(), choice);
  return take_and_end_ids(errand, subjects.ids(), choice.ending, "buried", choice.quiet);
}

}  // namespace haricot::tool
