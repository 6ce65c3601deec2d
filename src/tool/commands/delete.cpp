// haricot delete: deletes jobs by id, or the jobs of a tube in some states.

#include <string>

#include "tool/client/errand.hpp"
#include "tool/client/subjects.hpp"
#include "tool/commands/job_round.hpp"
#include "tool/commands/tube_choice.hpp"
#include "tool/commands/tube_clearing.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "delete",
    "[OPTIONS] ID...\n"
    "     haricot delete [OPTIONS] TUBE --ready|--delayed|--buried|--all [--count N] --yes",
    "Deletes jobs: those with these ids, or the ready, delayed or buried jobs of a tube. Of a\n"
    "tube, it deletes the jobs that are there when the command starts: without --count as flush\n"
    "does it, otherwise one after the other, in the order in which peek shows them. A job that\n"
    "a worker holds cannot be deleted. Without --yes, jobs of a tube are deleted only if\n"
    "somebody at a terminal says yes.\n",
    "    haricot delete 17 18\n"
    "    haricot delete mail --buried --count 100 --yes\n"};

int delete_ids(Errand& errand, const std::vector<std::uint64_t>& ids, bool is_quiet) {
  JobRound round(errand, "deleted");
  round.quiet(is_quiet);
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
  errand.add(count_flag("so many jobs at most", clearing.count));
  add_clearing_flags(errand, clearing);
  if (const std::optional<int> over = errand.read(words)) return *over;
  if (const std::optional<int> over = subjects.take(1, Subjects::Ids::yes)) return *over;
  const std::vector<std::uint64_t>& ids = subjects.ids();
  clearing.tube = subjects.tube();
  if (all) clearing.places = {true, true, true};
  if (clearing.tube.empty() == ids.empty()) {
    return errand.mistake("it takes either ids or a tube");
  }
  if (clearing.tube.empty() != (clearing.places.count() == 0)) {
    return errand.mistake("a tube needs --ready, --delayed, --buried or --all, and ids need none");
  }
  const bool has_tube = !clearing.tube.empty();
  if (const auto over = has_tube ? check_consent(errand, clearing) : std::nullopt) return *over;
  if (const std::optional<int> over = errand.connect()) return *over;
  return has_tube ? clear_tube(errand, clearing) : delete_ids(errand, ids, clearing.quiet);
}

}  // namespace haricot::tool
