// haricot delete: deletes jobs by id, or the jobs of a tube in some states.

#include <string>

#include "tool/client/errand.hpp"
#include "tool/commands/job_actions.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "delete",
    "[OPTIONS] ID...\n"
    "     haricot delete [OPTIONS] TUBE --ready|--delayed|--buried|--all [--count N] --yes",
    "Deletes jobs: the jobs with these ids, or the ready, delayed or buried jobs of a tube. For\n"
    "a tube, deletes the jobs that exist at the start: with --count one by one, in the order in\n"
    "which peek shows them, otherwise like flush. A reserved job can be deleted only by its\n"
    "holder. Without --yes, asks for confirmation at the terminal before deleting jobs of a\n"
    "tube.\n",
    "    haricot delete 17 18\n"
    "    haricot delete mail --buried --count 100 --yes\n"};

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

}  // namespace

int delete_jobs(Words words) {
  Errand errand(kText);
  Subjects subjects(errand);
  TubeClearing clearing;
  bool all = false;
  subjects.add_tube_flag();
  add_place_flags(errand, clearing.places);
  errand.add({0, "all", "", "ready, delayed and buried jobs of the tube", set(all)});
  errand.add(count_flag("at most N jobs", clearing.count));
  add_clearing_flags(errand, clearing);
  if (const std::optional<int> over = errand.read(words)) return *over;
  if (const std::optional<int> over = subjects.take(1, Subjects::Ids::yes)) return *over;
  const std::vector<std::uint64_t>& ids = subjects.ids();
  clearing.tube = subjects.tube();
  if (all) clearing.places = {true, true, true};
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
