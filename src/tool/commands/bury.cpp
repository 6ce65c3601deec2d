// haricot bury: sets jobs aside until somebody kicks them.

#include <algorithm>
#include <limits>
#include <string>

#include "tool/client/errand.hpp"
#include "tool/commands/job_round.hpp"
#include "tool/commands/tube_choice.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "bury",
    "[OPTIONS] ID...\n"
    "     haricot bury [OPTIONS] --tube TUBE --count N|--all",
    "Puts jobs aside until somebody kicks them: those with these ids, or ready jobs of a\n"
    "tube, in the order in which a worker would get them. Each job is reserved and then\n"
    "buried. It keeps its priority, unless --priority gives another one. For ids, the server\n"
    "has to know reserve-job (beanstalkd 1.12 and later).\n"};

struct Choice {
  std::string tube;
  std::uint64_t count = 0;
  bool all = false;
  std::optional<std::uint64_t> priority;
  bool quiet = false;
};

enum class Outcome : std::uint8_t { buried, gone, failed };

// Reserves with the command and buries what it gives.
Outcome bury_by(Errand& errand, const std::string& reserve, const Choice& choice) {
  Remote& server = errand.server();
  const std::optional<Response> job = server.ask(reserve);
  if (!job) return Outcome::failed;
  if (job->code == ReplyCode::not_found || job->code == ReplyCode::timed_out) return Outcome::gone;
  if (job->code != ReplyCode::reserved) {
    server.refuse(reserve.substr(0, reserve.find(' ')), job->code, job->line);
    return Outcome::failed;
  }
  const std::string id = std::to_string(job->number);
  std::optional<std::uint64_t> priority = choice.priority;
  if (!priority) {
    bool is_there = false;
    const std::optional<StatsText> stats = server.ask_stats("stats-job " + id, is_there);
    if (!stats) return Outcome::failed;
    priority = stats->number("pri");
  }
  const std::optional<Response> buried =
      server.ask("bury " + id + " " + std::to_string(priority.value_or(0)), ReplyCode::buried);
  if (!buried) return Outcome::failed;
  return buried->code == ReplyCode::buried ? Outcome::buried : Outcome::gone;
}

int bury_ids(Errand& errand, const std::vector<std::uint64_t>& ids, const Choice& choice) {
  JobRound round(errand, "buried");
  round.quiet(choice.quiet);
  for (const std::uint64_t id : ids) {
    const Outcome outcome = bury_by(errand, "reserve-job " + std::to_string(id), choice);
    if (outcome == Outcome::failed) return round.fail();
    round.note(id, outcome == Outcome::buried);
  }
  return round.end("or a worker holds it");
}

int bury_of_tube(Errand& errand, const Choice& choice) {
  int status = 0;
  const std::optional<StatsText> stats = use_tube(errand, choice.tube, status);
  if (!stats) return status;
  if (stats->number("pause-time-left").value_or(0) > 0) {
    return errand.no("tube " + choice.tube +
                     " is paused, and none of its jobs can be reserved: end the pause, or bury by "
                     "id");
  }
  Remote& server = errand.server();
  if (!server.ask("watch " + choice.tube, ReplyCode::watching)) return errand.failed();
  if (choice.tube != "default" && !server.ask("ignore default", ReplyCode::watching)) {
    return errand.failed();
  }
  const std::uint64_t ready = stats->number(count_key(Place::ready)).value_or(0);
  const std::uint64_t bound = choice.all ? ready : std::min(ready, choice.count);
  JobRound round(errand, "buried");
  round.quiet(choice.quiet);
  for (std::uint64_t i = 0; i < bound; ++i) {
    const Outcome outcome = bury_by(errand, "reserve-with-timeout 0", choice);
    if (outcome == Outcome::failed) return round.fail();
    if (outcome == Outcome::gone) break;
    round.count();
  }
  return round.end("");
}

}  // namespace

int bury(Words words) {
  constexpr std::uint64_t kPriorityMax = 4294967295;
  Errand errand(kText);
  Choice choice;
  std::uint64_t priority = kPriorityMax + 1;
  errand.add({'t', "tube", "TUBE", "bury ready jobs of this tube", set_tube(choice.tube),
              "a tube's name"});
  errand.add({'n', "count", "N", "so many jobs at most",
              set_count(choice.count, 1, std::numeric_limits<std::uint64_t>::max()),
              "a number of at least 1"});
  errand.add({0, "all", "", "all jobs that are ready when the command starts", set(choice.all)});
  errand.add({'p', "priority", "N", "give the jobs this priority",
              set_count(priority, 0, kPriorityMax), "a number up to 4294967295"});
  JobRound::add_quiet_flag(errand, choice.quiet);
  if (const std::optional<int> over = errand.read(words)) return *over;
  const std::optional<std::vector<std::uint64_t>> ids = errand.ids();
  if (!ids) return kExitUsage;
  if (priority <= kPriorityMax) choice.priority = priority;
  const bool has_bound = choice.all || choice.count > 0;
  if (choice.tube.empty() == ids->empty()) return errand.mistake("it takes either ids or a --tube");
  if (choice.tube.empty() == has_bound || (choice.all && choice.count > 0)) {
    return errand.mistake("--tube needs either --count or --all, and ids need none");
  }
  if (const std::optional<int> over = errand.connect()) return *over;
  return choice.tube.empty() ? bury_ids(errand, *ids, choice) : bury_of_tube(errand, choice);
}

}  // namespace haricot::tool
