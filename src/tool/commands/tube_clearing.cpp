#include "tool/commands/tube_clearing.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "os/clock.hpp"
#include "tool/cli/progress.hpp"

namespace haricot::tool {
namespace {

// Of each state, how many are to go at most. What is put meanwhile stays; so it comes to an end.
std::uint64_t bound_of(const TubeClearing& clearing, const StatsText& stats, Place place) {
  if (!clearing.places.has(place)) return 0;
  return std::min(clearing.count, stats.number(count_key(place)).value_or(0));
}

// Deletes what peek shows, up to a number. The next job is asked for along with the deletion of
// this one, so each job costs one turn around.
bool delete_place(Errand& errand, Place place, std::uint64_t bound, std::uint64_t all,
                  JobRound& round, Progress& progress) {
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
    progress.show(os::read_clock(), round.counted(), all);
    if (odd) {
      errand.server().refuse("delete", odd->code, odd->line);
      return false;
    }
  }
  return true;
}

}  // namespace

bool is_confirmed(const TubeClearing& clearing, const StatsText& stats) {
  std::string question = "Delete";
  for (const Place place : kPlaces) {
    if (!clearing.places.has(place)) continue;
    if (question.size() > 6) question += " and";
    question += " " + std::to_string(bound_of(clearing, stats, place)) + " ";
    question += name_of(place);
  }
  std::fprintf(stderr, "%s jobs of tube %s? [y/N] ", question.c_str(), clearing.tube.c_str());
  std::fflush(stderr);
  char answer[16] = {};
  return std::fgets(answer, sizeof answer, stdin) != nullptr &&
         (answer[0] == 'y' || answer[0] == 'Y');
}

bool delete_peeked(Errand& errand, const TubeClearing& clearing, const StatsText& stats,
                   JobRound& round) {
  Progress progress("deleted", round.is_quiet());
  std::uint64_t all = 0;
  for (const Place place : kPlaces) all += bound_of(clearing, stats, place);
  for (const Place place : kPlaces) {
    std::uint64_t bound = bound_of(clearing, stats, place);
    bound = std::min(bound, clearing.count - std::min(clearing.count, round.counted()));
    if (!delete_place(errand, place, bound, std::min(all, clearing.count), round, progress))
      return false;
  }
  return true;
}

}  // namespace haricot::tool
