// haricot delete: jobs by their ids, or all of a tube that are in a state.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>

#include "tool/client/errand.hpp"
#include "tool/commands/job_round.hpp"
#include "tool/commands/tube_choice.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "delete",
    "[OPTIONS] ID...\n"
    "     haricot delete [OPTIONS] --tube TUBE --ready|--delayed|--buried|--all [--count N] --yes",
    "Deletes jobs: those with these ids, or the ready, delayed or buried jobs of a tube. Of a\n"
    "tube, it deletes the jobs that are there when the command starts, in the order in which\n"
    "peek shows them. A job that a worker holds cannot be deleted. Without --yes, jobs of a\n"
    "tube are deleted only if somebody at a terminal says yes.\n"};

struct Choice {
  std::string tube;
  PlaceFlags places;
  std::uint64_t count = std::numeric_limits<std::uint64_t>::max();
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

// Of each state, how many are to go at most. What is put meanwhile stays; so it comes to an end.
std::uint64_t bound_of(const Choice& choice, const StatsText& stats, Place place) {
  if (!choice.places.has(place)) return 0;
  return std::min(choice.count, stats.number(count_key(place)).value_or(0));
}

bool is_confirmed(const Choice& choice, const StatsText& stats) {
  std::string question = "Delete";
  for (const Place place : kPlaces) {
    if (!choice.places.has(place)) continue;
    if (question.size() > 6) question += " and";
    question += " " + std::to_string(bound_of(choice, stats, place)) + " ";
    question += name_of(place);
  }
  std::fprintf(stderr, "%s jobs of tube %s? [y/N] ", question.c_str(), choice.tube.c_str());
  std::fflush(stderr);
  char answer[16] = {};
  return std::fgets(answer, sizeof answer, stdin) != nullptr &&
         (answer[0] == 'y' || answer[0] == 'Y');
}

// Deletes what peek shows, up to a number. The next job is asked for along with the deletion of
// this one, so each job costs one turn around.
bool delete_place(Errand& errand, Place place, std::uint64_t bound, JobRound& round) {
  if (bound == 0) return true;
  std::optional<Response> next = errand.server().ask(peek_command(place), ReplyCode::found);
  for (std::uint64_t i = 0; i < bound; ++i) {
    if (!next) return false;
    if (next->code == ReplyCode::not_found) return true;
    const std::string commands =
        "delete " + std::to_string(next->number) + "\r\n" + peek_command(place) + "\r\n";
    bool is_deletion = true;
    std::optional<Response> odd;
    const auto take = [&](const Answer& answer) {
      const ReplyCode wanted = is_deletion ? ReplyCode::deleted : ReplyCode::found;
      if (answer.code != wanted && answer.code != ReplyCode::not_found) {
        odd = {answer.code, 0, std::string(answer.line), {}};
      }
      // Not found: somebody was faster.
      if (is_deletion && answer.code == ReplyCode::deleted) round.count();
      if (!is_deletion) next = {answer.code, answer.number, {}, {}};
      is_deletion = false;
    };
    if (!errand.server().ask("delete", commands, 2, take)) return false;
    if (odd) {
      errand.server().refuse("delete", odd->code, odd->line);
      return false;
    }
  }
  return true;
}

int delete_of_tube(Errand& errand, const Choice& choice) {
  int status = 0;
  const std::optional<StatsText> stats = use_tube(errand, choice.tube, status);
  if (!stats) return status;
  if (!choice.yes && !is_confirmed(choice, *stats)) return errand.no("nothing was deleted");
  JobRound round(errand, "deleted");
  round.quiet(choice.quiet);
  for (const Place place : kPlaces) {
    std::uint64_t bound = bound_of(choice, *stats, place);
    bound = std::min(bound, choice.count - std::min(choice.count, round.counted()));
    if (!delete_place(errand, place, bound, round)) return round.fail();
  }
  return round.end("");
}

}  // namespace

int delete_jobs(Words words) {
  Errand errand(kText);
  Choice choice;
  bool all = false;
  errand.add(
      {'t', "tube", "TUBE", "delete jobs of this tube", set_tube(choice.tube), "a tube's name"});
  add_place_flags(errand, choice.places);
  errand.add({0, "all", "", "ready, delayed and buried jobs of the tube", set(all)});
  errand.add({'n', "count", "N", "so many jobs at most",
              set_count(choice.count, 1, std::numeric_limits<std::uint64_t>::max()),
              "a number of at least 1"});
  errand.add({'y', "yes", "", "do not ask", set(choice.yes)});
  JobRound::add_quiet_flag(errand, choice.quiet);
  if (const std::optional<int> over = errand.read(words)) return *over;
  const std::optional<std::vector<std::uint64_t>> ids = errand.ids();
  if (!ids) return kExitUsage;
  if (all) choice.places = {true, true, true};
  if (choice.tube.empty() == ids->empty()) return errand.mistake("it takes either ids or a --tube");
  if (choice.tube.empty() != (choice.places.count() == 0)) {
    return errand.mistake("--tube needs --ready, --delayed, --buried or --all, and ids need none");
  }
  if (!choice.tube.empty() && !choice.yes && ::isatty(STDIN_FILENO) == 0) {
    return errand.mistake("without a terminal to ask at, --yes is needed");
  }
  if (const std::optional<int> over = errand.connect()) return *over;
  return choice.tube.empty() ? delete_ids(errand, *ids, choice) : delete_of_tube(errand, choice);
}

}  // namespace haricot::tool
