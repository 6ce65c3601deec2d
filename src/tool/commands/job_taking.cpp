#include "tool/commands/job_taking.hpp"

#include <algorithm>

#include "haricot/base/number.hpp"
#include "tool/commands/job_round.hpp"

namespace haricot::tool {
namespace {

constexpr std::uint64_t kPriorityMax = 4294967295;

std::string ending_command(std::uint64_t id, const Ending& ending, std::uint64_t priority) {
  const std::string job = std::to_string(id);
  switch (ending.fate) {
    case Fate::deleted:
      return "delete " + job;
    case Fate::buried:
      return "bury " + job + " " + std::to_string(priority);
    case Fate::released:
      return "release " + job + " " + std::to_string(priority) + " " +
             std::to_string(ending.delay_s);
  }
  return {};
}

ReplyCode wanted_answer(Fate fate) {
  switch (fate) {
    case Fate::deleted:
      return ReplyCode::deleted;
    case Fate::buried:
      return ReplyCode::buried;
    case Fate::released:
      return ReplyCode::released;
  }
  return ReplyCode::none;
}

}  // namespace

Outcome end_reservation(Errand& errand, std::uint64_t id, const Ending& ending) {
  Remote& server = errand.server();
  std::optional<std::uint64_t> priority = ending.priority;
  if (!priority && ending.fate != Fate::deleted) {
    bool is_there = false;
    const std::optional<StatsText> stats =
        server.ask_stats("stats-job " + std::to_string(id), is_there);
    if (!stats) return Outcome::failed;
    if (!is_there) return Outcome::gone;
    priority = stats->number("pri");
  }
  const ReplyCode wanted = wanted_answer(ending.fate);
  const std::optional<Response> ended =
      server.ask(ending_command(id, ending, priority.value_or(0)), wanted);
  if (!ended) return Outcome::failed;
  return ended->code == wanted ? Outcome::done : Outcome::gone;
}

Outcome take_and_end(Errand& errand, const std::string& reserve, const Ending& ending) {
  Remote& server = errand.server();
  const std::optional<Response> job = server.ask(reserve);
  if (!job) return Outcome::failed;
  if (job->code == ReplyCode::not_found || job->code == ReplyCode::timed_out) return Outcome::gone;
  if (job->code != ReplyCode::reserved) {
    server.refuse(reserve.substr(0, reserve.find(' ')), job->code, job->line);
    return Outcome::failed;
  }
  return end_reservation(errand, job->number, ending);
}

int take_and_end_ids(Errand& errand, const std::vector<std::uint64_t>& ids, const Ending& ending,
                     std::string_view done, bool quiet) {
  JobRound round(errand, done);
  round.quiet(quiet);
  for (const std::uint64_t id : ids) {
    const Outcome outcome = take_and_end(errand, "reserve-job " + std::to_string(id), ending);
    if (outcome == Outcome::failed) return round.fail();
    round.add(id, outcome == Outcome::done);
  }
  return round.end("or a worker holds it");
}

bool watch_only(Errand& errand, const std::vector<std::string>& tubes) {
  Remote& server = errand.server();
  for (const std::string& tube : tubes) {
    if (!server.ask("watch " + tube, ReplyCode::watching)) return false;
  }
  const bool has_default = std::find(tubes.begin(), tubes.end(), "default") != tubes.end();
  return has_default || server.ask("ignore default", ReplyCode::watching);
}

void add_priority_flag(Errand& errand, Ending& ending) {
  errand.add({'p', "priority", "N", "new priority of the jobs",
              [&ending](std::string_view value) {
                ending.priority = read_number(value);
                return ending.priority && *ending.priority <= kPriorityMax;
              },
              "a number up to 4294967295"});
}

void add_delay_flag(Errand& errand, Ending& ending) {
  errand.add({'d', "delay", "S", "seconds until a released job becomes ready (0)",
              set_seconds(ending.delay_s), kTimeWanted});
}

}  // namespace haricot::tool
