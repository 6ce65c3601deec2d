// haricot delete: jobs by their ids, or all of a tube that are in a state.

#include <unistd.h>

#include <limits>
#include <string>

#include "tool/client/errand.hpp"
#include "tool/commands/job_round.hpp"
#include "tool/commands/tube_choice.hpp"
#include "tool/commands/tube_clearing.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "delete",
    "[OPTIONS] ID...\n"
    "     haricot delete [OPTIONS] --tube TUBE --ready|--delayed|--buried|--all [--count N] --yes",
    "Deletes jobs: those with these ids, or the ready, delayed or buried jobs of a tube. Of a\n"
    "tube, it deletes the jobs that are there when the command starts, in the order in which\n"
    "peek shows them. A job that a worker holds cannot be deleted. Without --yes, jobs of a\n"
    "tube are deleted only if somebody at a terminal says yes.\n",
    "    haricot delete 17 18\n"
    "    haricot delete --tube mail --buried --count 100 --yes\n"};

struct Choice {
  TubeClearing clearing{
      .tube = {}, .places = {}, .count = std::numeric_limits<std::uint64_t>::max()};
  bool yes = false;
  bool quiet = false;
};

int delete_ids(Errand& errand, const std::vector<std::uint64_t>& ids, const Choice& choice) {
  JobRound round(errand, "deleted");
  round.quiet(choice.quiet);
  for (const std::uint64_t id : ids) {
    const std::optional<Response> deleted =
        errand.server().ask("delete " + std::to_string(id), ReplyCode::deleted);
    if (!deleted) return round.fail();
    round.note(id, deleted->code == ReplyCode::deleted);
  }
  return round.end("or a worker holds it");
}

int delete_of_tube(Errand& errand, const Choice& choice) {
  int status = 0;
  const std::optional<StatsText> stats = use_tube(errand, choice.clearing.tube, status);
  if (!stats) return status;
  if (!choice.yes && !is_confirmed(choice.clearing, *stats))
    return errand.no("nothing was deleted");
  JobRound round(errand, "deleted");
  round.quiet(choice.quiet);
  if (!delete_peeked(errand, choice.clearing, *stats, round)) return round.fail();
  return round.end("");
}

}  // namespace

int delete_jobs(Words words) {
  Errand errand(kText);
  Choice choice;
  bool all = false;
  errand.add({'t', "tube", "TUBE", "delete jobs of this tube", set_tube(choice.clearing.tube),
              "a tube's name"});
  add_place_flags(errand, choice.clearing.places);
  errand.add({0, "all", "", "ready, delayed and buried jobs of the tube", set(all)});
  errand.add({'n', "count", "N", "so many jobs at most",
              set_count(choice.clearing.count, 1, std::numeric_limits<std::uint64_t>::max()),
              "a number of at least 1"});
  errand.add({'y', "yes", "", "do not ask", set(choice.yes)});
  JobRound::add_quiet_flag(errand, choice.quiet);
  if (const std::optional<int> over = errand.read(words)) return *over;
  const std::optional<std::vector<std::uint64_t>> ids = errand.ids();
  if (!ids) return kExitUsage;
  if (all) choice.clearing.places = {true, true, true};
  if (choice.clearing.tube.empty() == ids->empty())
    return errand.mistake("it takes either ids or a --tube");
  if (choice.clearing.tube.empty() != (choice.clearing.places.count() == 0)) {
    return errand.mistake("--tube needs --ready, --delayed, --buried or --all, and ids need none");
  }
  if (!choice.clearing.tube.empty() && !choice.yes && ::isatty(STDIN_FILENO) == 0) {
    return errand.mistake("without a terminal to ask at, --yes is needed");
  }
  if (const std::optional<int> over = errand.connect()) return *over;
  return choice.clearing.tube.empty() ? delete_ids(errand, *ids, choice)
                                      : delete_of_tube(errand, choice);
}

}  // namespace haricot::tool
