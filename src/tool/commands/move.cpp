// haricot move: moves the jobs of a tube into another tube of the same server.

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "os/clock.hpp"
#include "tool/cli/interrupt.hpp"
#include "tool/cli/output.hpp"
#include "tool/client/errand.hpp"
#include "tool/client/job_filter.hpp"
#include "tool/client/job_move.hpp"
#include "tool/client/list_page.hpp"
#include "tool/client/put_tags.hpp"
#include "tool/commands/job_actions.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "move", "[OPTIONS] FROM TO",
    "Moves the ready, delayed and buried jobs of the tube FROM to the tube TO, or those that all\n"
    "given filters match; filters other than --state require haricotd. A job keeps its body,\n"
    "priority, TTR, remaining delay, state, tags and note, and gets a new id and new counters. If\n"
    "a job in TO has the same key (tag idp), the job stays in FROM, and the status is 1. move\n"
    "handles the jobs that exist at the start, without filters in the order of service, except\n"
    "reserved ones. It reserves a job, puts it into TO, and deletes it from FROM. If it is killed\n"
    "or loses the server between put and delete, this one job is in both tubes, and ready in\n"
    "FROM. Requires a server with reserve-job (beanstalkd 1.12 or later).\n",
    "    haricot move mail mail-of-monday\n"
    "    haricot move --state buried mail mail-to-check\n"
    "    haricot move --class SendInvoice mail invoices\n"};

struct Choice {
  std::string from;
  std::string to;
  JobFilter filter;
  std::uint64_t count = MatchChange::kAll;
  bool yes = false;
  bool quiet = false;

  JobStates states() const { return filter.states_or(kReady | kDelayed | kBuried); }
  PlaceFlags places() const {
    return {(states() & kReady) != 0, (states() & kDelayed) != 0, (states() & kBuried) != 0};
  }
};

// Moves jobs of a tube to another tube of an errand's server (tool/client/job_move.hpp).
class JobMover final {
 public:
  // Requires: the tubes differ, and the connection is open.
  JobMover(Errand& errand, std::string from, std::string to, PlaceFlags places)
      : errand_(errand),
        support_(errand.server()),
        from_(std::move(from)),
        to_(std::move(to)),
        places_(places) {}

  // Moves a job. Prints messages for the operator. After Outcome::failed the server's failure() has
  // the reason.
  JobMove::Outcome move(const ListedJob& job);

 private:
  Errand& errand_;
  TagSupport support_;
  std::string from_;
  std::string to_;
  PlaceFlags places_;
};

JobMove::Outcome JobMover::move(const ListedJob& job) {
  if (!support_.takes(job.tags)) return JobMove::Outcome::failed;
  Remote& server = errand_.server();
  JobMove move(job, from_, to_, places_);
  while (!move.is_over()) {
    std::string commands;
    for (const std::string& command : move.commands()) commands += command;
    const auto answers = server.ask_together(move.name(), commands, move.commands().size());
    if (answers) {
      move.take(*answers);
    } else {
      move.lose();
    }
  }
  for (const std::string& message : move.messages()) errand_.warn(message);
  if (const auto& refused = move.refused()) {
    server.refuse(refused->command, refused->code, refused->line);
  }
  return move.outcome();
}

class Move {
 public:
  Move(Errand& errand, const Choice& choice)
      : errand_(errand),
        choice_(choice),
        mover_(errand, choice.from, choice.to, choice.places()),
        round_(errand, "moved", choice.quiet),
        progress_("moved", choice.quiet) {}

  int run(const StatsText& stats) {
    for (const Place place : kPlaces) {
      if (choice_.places().has(place)) all_ += stats.number(count_key(place)).value_or(0);
    }
    all_ = std::min(all_, choice_.count);
    for (const Place place : kPlaces) {
      if (!choice_.places().has(place)) continue;
      if (!move_place(place, stats.number(count_key(place)).value_or(0))) {
        progress_.clear();
        if (!is_interrupted()) return round_.fail();
        round_.end("");
        return errand_.no("interrupted");
      }
    }
    progress_.clear();
    const int status = round_.end("");
    return stayed_.empty() ? status : errand_.done(kExitFailure);
  }

 private:
  // Moves at most `bound` jobs, the number at the start, so that it ends although producers
  // continue. Returns false if the server failed or a signal arrived.
  bool move_place(Place place, std::uint64_t bound) {
    while (bound > 0 && all_ > round_.counted()) {
      const std::uint64_t wanted = std::min({bound, all_ - round_.counted(), kPageJobsMax});
      std::vector<ListedJob> jobs;
      if (!next_jobs(place, wanted, jobs)) return false;
      if (jobs.empty()) return true;
      for (const ListedJob& job : jobs) {
        if (is_interrupted()) return false;
        const InterruptBlock block;
        const JobMove::Outcome outcome = mover_.move(job);
        if (outcome == JobMove::Outcome::failed) return false;
        if (outcome == JobMove::Outcome::moved) round_.count();
        if (outcome == JobMove::Outcome::stayed) stayed_.insert(job.id);
        progress_.show(os::read_clock(), round_.counted(), all_);
      }
      bound -= std::min<std::uint64_t>(bound, jobs.size());
    }
    return true;
  }

  // Finds the next jobs in the order of service: up to `wanted`, or one if the server cannot list
  // jobs. Returns false if the server failed.
  bool next_jobs(Place place, std::uint64_t wanted, std::vector<ListedJob>& jobs) {
    Remote& server = errand_.server();
    if (lists_jobs_) {
      const std::optional<Response> listed =
          server.ask("list-jobs " + choice_.from + " " + std::string(name_of(place)) + " " +
                     std::to_string(std::min(wanted + stayed_.size(), kPageJobsMax)));
      if (!listed) return false;
      if (listed->code == ReplyCode::not_found) return true;
      lists_jobs_ = listed->code == ReplyCode::ok;
      if (lists_jobs_) {
        const std::optional<JobPage> page = parse_job_page(listed->body);
        if (page) {
          // Skip jobs that could not be moved: they are still first in the list.
          for (const StatsText& job : page->jobs) {
            ListedJob one = listed_job(job);
            if (stayed_.count(one.id) == 0 && jobs.size() < wanted) {
              jobs.push_back(std::move(one));
            }
          }
          if (jobs.empty() && page->jobs.size() == kPageJobsMax) {
            errand_.warn("the jobs after these are not moved");
          }
          return true;
        }
        lists_jobs_ = false;
      }
    }
    const auto peeked = server.ask_together(
        "peek", "use " + choice_.from + "\r\n" + peek_command(place) + "\r\n", 2);
    if (!peeked) return false;
    const Response& use = peeked->front();
    const Response& found = use.code == ReplyCode::now_using ? peeked->back() : use;
    if (found.code == ReplyCode::found) {
      jobs.push_back({.id = found.number, .tags = {}});
      return true;
    }
    if (found.code == ReplyCode::not_found) return true;
    server.refuse(&found == &use ? "use" : peek_command(place), found.code, found.line);
    return false;
  }

  Errand& errand_;
  const Choice& choice_;
  JobMover mover_;
  JobRound round_;
  Progress progress_;
  std::uint64_t all_ = 0;
  bool lists_jobs_ = true;
  std::set<std::uint64_t> stayed_;  // Ids of jobs that could not be moved.
};

int move_matches(Errand& errand, const Choice& choice) {
  JobMover mover(errand, choice.from, choice.to, choice.places());
  bool has_stayed = false;
  const auto act = [&](std::span<const ListedJob> jobs, JobRound& round) {
    for (const ListedJob& job : jobs) {
      if (is_interrupted()) return false;
      const InterruptBlock block;
      const JobMove::Outcome outcome = mover.move(job);
      if (outcome == JobMove::Outcome::failed) return false;
      if (outcome == JobMove::Outcome::moved) round.count();
      has_stayed = has_stayed || outcome == JobMove::Outcome::stayed;
    }
    return true;
  };
  const MatchChange change{.verb = "Move",
                           .done = "moved",
                           .tubes = {choice.from},
                           .states = choice.states(),
                           .count = choice.count,
                           .yes = choice.yes,
                           .quiet = choice.quiet};
  const int status = change_matches(errand, choice.filter, change, act);
  return has_stayed && status == kExitDone ? errand.done(kExitFailure) : status;
}

}  // namespace

int move_jobs(Words words) {
  Errand errand(kText);
  Subjects subjects(errand);
  Choice choice;
  subjects.add_tube_flag("FROM, or if repeated FROM and TO");
  choice.filter.add_flags(errand, kReady | kDelayed | kBuried);
  errand.add(count_flag("at most N jobs", choice.count));
  add_yes_flag(errand, choice.yes);
  JobRound::add_quiet_flag(errand, choice.quiet);
  if (const std::optional<int> over = errand.read(words)) return *over;
  if (const std::optional<int> over = subjects.take(2)) return *over;
  if (subjects.tubes().size() != 2) return errand.mistake("requires two tubes");
  choice.from = subjects.tubes()[0];
  choice.to = subjects.tubes()[1];
  if (const std::optional<int> over = errand.connect()) return *over;
  JobRound nothing(errand, "moved", choice.quiet);
  int status = 0;
  const std::optional<StatsText> stats = use_tube(nothing, choice.from, status);
  if (!stats) return status;
  catch_interrupts();
  if (choice.filter.has_more_than_state()) return move_matches(errand, choice);
  return Move(errand, choice).run(*stats);
}

}  // namespace haricot::tool
