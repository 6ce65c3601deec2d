#include "tool/commands/tube_clearing.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "os/clock.hpp"
#include "tool/cli/output.hpp"
#include "tool/commands/job_round.hpp"

namespace haricot::tool {
namespace {

// Returns the largest number of jobs to delete in a state. Jobs that are put later stay, so the
// work ends.
std::uint64_t bound_of(const TubeClearing& clearing, const StatsText& stats, Place place) {
  if (!clearing.places.has(place)) return 0;
  return std::min(clearing.count, stats.number(count_key(place)).value_or(0));
}

// Deletes up to `bound` jobs, each after a peek. Sends each peek together with the previous delete,
// so a job costs one round trip. Returns false if the server failed.
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
      // Another client may have deleted the job first.
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

// Asks at the terminal for a confirmation, with the numbers of `stats`.
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

// Deletes jobs one by one. Returns false if the server failed. Requires: the tube is used.
bool delete_peeked(Errand& errand, const TubeClearing& clearing, const StatsText& stats,
                   JobRound& round) {
  Progress progress("deleted", clearing.quiet);
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

// Deletes jobs with flush-tube. Returns false if the server failed, and nothing if it lacks the
// command; then nothing was deleted.
std::optional<bool> flush_states(Errand& errand, const TubeClearing& clearing, JobRound& round) {
  const std::string command = "flush-tube " + clearing.tube;
  std::vector<std::string> commands;
  for (const Place place : kPlaces) {
    if (clearing.places.has(place)) commands.push_back(command + " " + std::string(name_of(place)));
  }
  if (commands.size() == std::size(kPlaces)) commands = {command};
  Progress progress("deleted", clearing.quiet);
  progress.say("deleting");
  for (const std::string& one : commands) {
    const std::optional<Response> flushed = errand.server().ask(one);
    if (!flushed) return false;
    if (flushed->code == ReplyCode::unknown_command) return std::nullopt;
    // A tube that was deleted meanwhile has no jobs.
    if (flushed->code == ReplyCode::flushed) {
      round.count(flushed->number);
    } else if (flushed->code != ReplyCode::not_found) {
      errand.server().refuse("flush-tube", flushed->code, flushed->line);
      return false;
    }
  }
  return true;
}

}  // namespace

void add_clearing_flags(Errand& errand, TubeClearing& clearing) {
  errand.add({'y', "yes", "", "do not ask for confirmation", set(clearing.yes)});
  JobRound::add_quiet_flag(errand, clearing.quiet);
}

std::optional<int> check_consent(const Errand& errand, const TubeClearing& clearing) {
  if (clearing.yes || ::isatty(STDIN_FILENO) != 0) return std::nullopt;
  return errand.mistake("without a terminal, --yes is required");
}

int clear_tube(Errand& errand, const TubeClearing& clearing) {
  JobRound round(errand, "deleted");
  round.quiet(clearing.quiet);
  int status = 0;
  const std::optional<StatsText> stats = use_tube(round, clearing.tube, status);
  if (!stats) return status;
  if (!clearing.yes && !is_confirmed(clearing, *stats)) return errand.no("nothing was deleted");
  std::optional<bool> is_done;
  if (clearing.count == TubeClearing::kAll) is_done = flush_states(errand, clearing, round);
  if (!is_done) is_done = delete_peeked(errand, clearing, *stats, round);
  return *is_done ? round.end("") : round.fail();
}

}  // namespace haricot::tool
