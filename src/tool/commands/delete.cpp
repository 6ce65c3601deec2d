// haricot delete: deletes jobs by id, or the jobs of a tube in some states.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tool/client/errand.hpp"
#include "tool/commands/job_actions.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "delete",
    "[OPTIONS] ID...\n"
    "     haricot delete [OPTIONS] TUBE --ready|--delayed|--buried|--all [--count N] --yes\n"
    "     haricot delete [OPTIONS] [TUBE] FILTER... [--count N] --yes",
    "Deletes jobs: the jobs with these ids, or the ready, delayed or buried jobs of a tube. For\n"
    "a tube, deletes the jobs that exist at the start: with --count one by one, in the order in\n"
    "which peek shows them, otherwise like flush. Filters choose jobs of a tube, or of all tubes,\n"
    "and require haricotd. A reserved job can be deleted only by its holder. Without --yes, asks\n"
    "for confirmation at the terminal unless ids are given.\n",
    "    haricot delete 17 18\n"
    "    haricot delete mail --buried --count 100 --yes\n"
    "    haricot delete mail --buried --older 30d --yes\n"};

int delete_ids(Errand& errand, const std::vector<std::uint64_t>& ids, bool is_quiet) {
  JobRound round(errand, "deleted", is_quiet);
  for (const std::uint64_t id : ids) {
    const std::optional<Response> deleted =
        errand.server().ask("delete " + std::to_string(id), ReplyCode::deleted);
    if (!deleted) return round.fail();
    round.add(id, deleted->code == ReplyCode::deleted);
  }
  return round.end("or a worker holds it");
}

int delete_matches(Errand& errand, const JobFilter& filter, std::vector<std::string> tubes,
                   const TubeClearing& clearing) {
  JobStates states = filter.states_or(kReady | kDelayed | kBuried);
  if (clearing.places.count() > 0) {
    states = (clearing.places.ready ? kReady : 0) | (clearing.places.delayed ? kDelayed : 0) |
             (clearing.places.buried ? kBuried : 0);
  }
  const MatchChange change{.verb = "Delete",
                           .done = "deleted",
                           .tubes = std::move(tubes),
                           .states = states,
                           .count = clearing.count,
                           .yes = clearing.yes,
                           .quiet = clearing.quiet};
  return change_matches(errand, filter, change,
                        [&](std::span<const ListedJob> jobs, JobRound& round) {
                          return change_each(errand, "delete", ReplyCode::deleted, jobs, round);
                        });
}

}  // namespace

int delete_jobs(Words words) {
  Errand errand(kText);
  Subjects subjects(errand);
  TubeClearing clearing;
  JobFilter filter;
  bool all = false;
  subjects.add_tube_flag();
  add_place_flags(errand, clearing.places);
  errand.add({0, "all", "", "ready, delayed and buried jobs of the tube", set(all)});
  errand.add(count_flag("at most N jobs", clearing.count));
  filter.add_flags(errand, kReady | kDelayed | kBuried);
  add_clearing_flags(errand, clearing);
  if (const std::optional<int> over = errand.read(words)) return *over;
  if (const std::optional<int> over = subjects.take(1, Subjects::Ids::yes)) return *over;
  const std::vector<std::uint64_t>& ids = subjects.ids();
  clearing.tube = subjects.tube();
  if (all) clearing.places = {true, true, true};
  if (filter.is_given()) {
    if (!ids.empty()) return errand.mistake("ids exclude filters");
    if (const auto over = check_consent(errand, clearing)) return *over;
    if (const std::optional<int> over = errand.connect()) return *over;
    return delete_matches(errand, filter, subjects.tubes(), clearing);
  }
  if (clearing.tube.empty() == ids.empty()) {
    return errand.mistake("requires either ids or a tube");
  }
  if (clearing.tube.empty() != (clearing.places.count() == 0)) {
    return errand.mistake(
        "a tube requires --ready, --delayed, --buried or --all, ids exclude them");
  }
  const bool has_tube = !clearing.tube.empty();
  if (const auto over = has_tube ? check_consent(errand, clearing) : std::nullopt) return *over;
  if (const std::optional<int> over = errand.connect()) return *over;
  return has_tube ? clear_tube(errand, clearing) : delete_ids(errand, ids, clearing.quiet);
}

}  // namespace haricot::tool
