// haricot reserve: reserves the next job, prints it, and ends the reservation as --then says.

#include <algorithm>
#include <string>
#include <vector>

#include "tool/client/errand.hpp"
#include "tool/commands/job_actions.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "reserve", "[OPTIONS] [TUBE...]",
    "Reserves the next job of these tubes, or of the tube default, like a worker, and prints its\n"
    "body. --then sets what happens to the job after its body was written. The command holds the\n"
    "job only while it runs: without --then, the job is ready again when the command exits.\n"
    "--json prints one object, like peek. Without --wait it waits until there is a job.\n",
    "    haricot reserve mail --wait 0 --then release        # print the next job and release it\n"
    "    haricot reserve mail --then delete > body\n"};

struct Choice {
  bool has_limit = false;
  std::uint64_t wait_s = 0;
  bool has_ending = false;
  Ending ending;
  JobForm form;
};

bool set_fate(Choice& choice, std::string_view value) {
  choice.has_ending = true;
  choice.ending.fate = value == "delete" ? Fate::deleted
                       : value == "bury" ? Fate::buried
                                         : Fate::released;
  return value == "delete" || value == "bury" || value == "release";
}

// Waits for a job. Returns nothing if there is none or the server failed; then it has printed a
// message and set `status`.
std::optional<Response> wait_for_job(Errand& errand, const Choice& choice, int& status) {
  Remote& server = errand.server();
  std::uint64_t left_s = choice.wait_s;
  while (true) {
    const std::uint64_t turn_s =
        choice.has_limit ? std::min(left_s, Errand::kTurnS) : Errand::kTurnS;
    std::optional<Response> job =
        errand.ask_and_wait("reserve-with-timeout " + std::to_string(turn_s), turn_s);
    if (job && job->code == ReplyCode::reserved) return job;
    if (job && job->code != ReplyCode::timed_out) {
      server.refuse("reserve-with-timeout", job->code, job->line);
    }
    if (!job || job->code != ReplyCode::timed_out) {
      status = errand.failed();
      return std::nullopt;
    }
    left_s -= std::min(left_s, turn_s);
    if (choice.has_limit && left_s == 0) {
      status = errand.no("there is no ready job");
      return std::nullopt;
    }
  }
}

int run(Errand& errand, const Choice& choice) {
  int status = 0;
  const std::optional<Response> job = wait_for_job(errand, choice, status);
  if (!job) return status;
  if (const std::optional<int> over = print_job(errand, *job, choice.form)) return *over;
  // If the output could not be written, end here: the job becomes ready again.
  status = errand.done();
  if (status != 0 || !choice.has_ending) return status;
  switch (end_reservation(errand, job->number, choice.ending)) {
    case Outcome::done:
      return 0;
    case Outcome::gone:
      return errand.no("job " + std::to_string(job->number) +
                       " is no longer reserved: its TTR has ended, and it is ready again");
    case Outcome::failed:
      return errand.failed();
  }
  return status;
}

}  // namespace

int reserve(Words words) {
  Errand errand(kText);
  Choice choice;
  Subjects subjects(errand);
  subjects.add_tube_flag("tube, same as an operand; may be repeated (default)");
  errand.add({'w', "wait", "S", "give up after S seconds, with status 1 (never)",
              [&choice](std::string_view value) {
                choice.has_limit = true;
                return set_seconds(choice.wait_s)(value);
              },
              kTimeWanted});
  errand.add({0, "then", "ACTION", "delete, bury or release the job afterwards",
              [&choice](std::string_view value) { return set_fate(choice, value); },
              "delete, bury or release"});
  add_priority_flag(errand, choice.ending);
  add_delay_flag(errand, choice.ending);
  add_form_flags(errand, choice.form);
  if (const std::optional<int> over = errand.read(words)) return *over;
  if (const std::optional<int> over = subjects.take(Subjects::kAnyNumber)) return *over;
  const bool has_fate = choice.has_ending;
  const Ending& ending = choice.ending;
  if (ending.priority && (!has_fate || ending.fate == Fate::deleted)) {
    return errand.mistake("--priority requires --then bury or --then release");
  }
  if (ending.delay_s > 0 && (!has_fate || ending.fate != Fate::released)) {
    return errand.mistake("--delay requires --then release");
  }
  if (const std::optional<int> over = errand.connect()) return *over;
  const std::vector<std::string> fallback = {"default"};
  if (!watch_only(errand, subjects.empty() ? fallback : subjects.tubes())) return errand.failed();
  return run(errand, choice);
}

}  // namespace haricot::tool
