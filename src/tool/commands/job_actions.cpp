#include "tool/commands/job_actions.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "haricot/base/encoding.hpp"
#include "haricot/base/number.hpp"
#include "os/clock.hpp"
#include "tool/cli/clock_time.hpp"
#include "tool/cli/interrupt.hpp"
#include "tool/cli/output.hpp"
#include "tool/client/list_page.hpp"
#include "tool/client/put_tags.hpp"

namespace haricot::tool {

void JobRound::add(std::uint64_t id, bool is_done) {
  if (is_done) {
    ++count_;
  } else {
    missing_.push_back(id);
  }
}

void JobRound::add_quiet_flag(Errand& errand, bool& to) {
  errand.add({'q', "quiet", "", "do not print the number of jobs", set(to)});
}

void JobRound::report() {
  if (is_quiet_) return;
  if (!errand_.json()) {
    print(std::string(done_) + " " + std::to_string(count_) + "\n");
    return;
  }
  std::string text = "{\"" + std::string(done_) + "\":" + std::to_string(count_);
  text += ",\"not_found\":[";
  for (std::size_t i = 0; i < missing_.size(); ++i) {
    text += (i > 0 ? "," : "") + std::to_string(missing_[i]);
  }
  print(text + "]}\n");
}

int JobRound::end(std::string_view or_what) {
  report();
  for (const std::uint64_t id : missing_) {
    errand_.warn("job " + std::to_string(id) + " does not exist, " + std::string(or_what));
  }
  return errand_.done(missing_.empty() ? kExitDone : kExitFailure);
}

int JobRound::end_without(const std::string& tube) {
  errand_.warn("there is no tube " + tube);
  return end("");
}

int JobRound::fail() {
  report();
  return errand_.failed();
}

std::string peek_command(Place place) {
  return "peek-" + std::string(name_of(place));
}

std::string count_key(Place place) {
  return "current-jobs-" + std::string(name_of(place));
}

void add_place_flags(Errand& errand, PlaceFlags& flags) {
  errand.add({0, "ready", "", "ready jobs of the tube", set(flags.ready)});
  errand.add({0, "delayed", "", "delayed jobs of the tube", set(flags.delayed)});
  errand.add({0, "buried", "", "buried jobs of the tube", set(flags.buried)});
}

std::optional<int> check_bound(const Errand& errand, const Subjects& subjects, bool has_count,
                               bool has_all, const JobFilter& filter) {
  const bool has_tube = !subjects.tubes().empty();
  if (filter.is_given()) {
    if (subjects.ids().empty()) return std::nullopt;
    return errand.mistake("ids exclude filters");
  }
  if (has_tube != subjects.ids().empty()) {
    return errand.mistake("requires either ids or a tube");
  }
  if (has_tube != (has_count || has_all) || (has_count && has_all)) {
    return errand.mistake("a tube requires --count, --all or a filter, ids exclude them");
  }
  return std::nullopt;
}

namespace {

// Asks at the terminal.
bool is_answered_yes(const std::string& question) {
  std::fprintf(stderr, "%s [y/N] ", question.c_str());
  std::fflush(stderr);
  char answer[16] = {};
  return std::fgets(answer, sizeof answer, stdin) != nullptr &&
         (answer[0] == 'y' || answer[0] == 'Y');
}

}  // namespace

void add_yes_flag(Errand& errand, bool& to) {
  errand.add({'y', "yes", "", "do not ask for confirmation", set(to)});
}

int change_matches(Errand& errand, const JobFilter& filter, const MatchChange& change,
                   const ChangeMatches& act) {
  std::vector<ListedJob> jobs;
  {
    Progress progress("checked", change.quiet);
    JobSearch search(errand, filter, change.states, progress);
    const auto take = [&](const std::vector<StatsText>& found) {
      for (const StatsText& job : found) {
        if (jobs.size() == change.count) return false;
        jobs.push_back(listed_job(job));
      }
      return true;
    };
    if (!search.run(change.tubes, take)) {
      progress.clear();
      return errand.failed();
    }
  }
  const bool asks = !change.yes && !jobs.empty() && ::isatty(STDIN_FILENO) != 0;
  const std::string question =
      std::string(change.verb) + " " + std::to_string(jobs.size()) + " matching jobs?";
  if (asks && !is_answered_yes(question)) {
    return errand.no("nothing was " + std::string(change.done));
  }
  JobRound round(errand, change.done, change.quiet);
  Progress progress(change.done, change.quiet);
  for (std::size_t begin = 0; begin < jobs.size(); begin += kTextsAtOnce) {
    const std::size_t count = std::min(kTextsAtOnce, jobs.size() - begin);
    const bool is_good = act(std::span(jobs).subspan(begin, count), round);
    progress.show(os::read_clock(), begin + count, jobs.size());
    if (is_good) continue;
    progress.clear();
    if (!is_interrupted()) return round.fail();
    round.end("");
    return errand.no("interrupted");
  }
  progress.clear();
  return round.end("");
}

bool change_each(Errand& errand, const std::string& command, ReplyCode wanted,
                 std::span<const ListedJob> jobs, JobRound& round) {
  std::string commands;
  for (const ListedJob& job : jobs) commands += command + " " + std::to_string(job.id) + "\r\n";
  std::optional<std::pair<ReplyCode, std::string>> refused;
  const auto take = [&](const Answer& answer) {
    if (answer.code == wanted) {
      round.count();
    } else if (answer.code != ReplyCode::not_found && !refused) {
      refused = {answer.code, std::string(answer.line)};
    }
  };
  if (!errand.server().ask(command, commands, jobs.size(), take)) return false;
  if (refused) errand.server().refuse(command, refused->first, refused->second);
  return !refused;
}

namespace {

// `round` is null if a missing tube is a failure.
std::optional<StatsText> use(Errand& errand, JobRound* round, const std::string& tube,
                             int& status) {
  bool is_there = false;
  std::optional<StatsText> stats = errand.server().ask_stats("stats-tube " + tube, is_there);
  if (!stats) {
    status = errand.failed();
    return std::nullopt;
  }
  if (!is_there) {
    status = round != nullptr ? round->end_without(tube) : errand.no("there is no tube " + tube);
    return std::nullopt;
  }
  if (!errand.server().ask("use " + tube, ReplyCode::now_using)) {
    status = errand.failed();
    return std::nullopt;
  }
  return stats;
}

}  // namespace

std::optional<StatsText> use_tube(Errand& errand, const std::string& tube, int& status) {
  return use(errand, nullptr, tube, status);
}

std::optional<StatsText> use_tube(JobRound& round, const std::string& tube, int& status) {
  return use(round.errand(), &round, tube, status);
}

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
  JobRound round(errand, done, quiet);
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
  errand.add({'d', "delay", "S", "seconds, or a time, until a released job becomes ready (0)",
              set_delay(ending.delay_s), kDelayWanted});
}

namespace {

// Adds the tags of the job and the keys of its burial, which stats-job lacks, if the server can
// list jobs. Returns false if the server failed.
bool add_listed_keys(Remote& server, std::uint64_t id, StatsText& stats) {
  const std::optional<Response> response = server.ask("scan-jobs " + std::to_string(id) + " 1");
  if (!response) return false;
  if (response->code != ReplyCode::ok) return true;
  const std::optional<JobPage> page = parse_job_page(response->body);
  if (!page || page->jobs.size() != 1 || page->jobs[0].number("id") != id) return true;
  const auto add = [&](std::string_view key) {
    const std::string* value = page->jobs[0].find(key);
    if (value != nullptr) stats.add({std::string(key), *value});
  };
  for (const TagRow& row : kTagTable) add(row.word);
  for (const std::string_view key :
       {"reserved-for", "buried-by", "buried-ago", "last-try", "note"}) {
    add(key);
  }
  return true;
}

}  // namespace

void add_form_flags(Errand& errand, JobForm& form) {
  errand.add({'i', "id", "", "print only the id of the job", set(form.only_id)});
  errand.add({0, "raw", "", "write the body unchanged, even to a terminal", set(form.raw)});
}

std::optional<int> print_job(Errand& errand, const Response& job, const JobForm& form) {
  if (errand.json()) {
    bool is_there = false;
    const std::string command = "stats-job " + std::to_string(job.number);
    std::optional<StatsText> stats = errand.server().ask_stats(command, is_there);
    if (!stats || (is_there && !add_listed_keys(errand.server(), job.number, *stats))) {
      return errand.failed();
    }
    if (!is_there) return errand.no("job " + std::to_string(job.number) + " was deleted meanwhile");
    const std::string body = is_utf8(job.body) ? "\"body\":" + json_string(job.body)
                                               : "\"body_base64\":" + json_base64(job.body);
    print("{" + stats->json_members() + ",\"bytes\":" + std::to_string(job.body.size()) + "," +
          body + "}\n");
  } else if (form.only_id) {
    print(std::to_string(job.number) + "\n");
  } else if (form.raw || ::isatty(STDOUT_FILENO) == 0) {
    print(job.body);
  } else {
    print(safe_lines(job.body) + (job.body.ends_with('\n') ? "" : "\n"));
  }
  return std::nullopt;
}

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
  return is_answered_yes(question + " jobs of tube " + clearing.tube + "?");
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
  add_yes_flag(errand, clearing.yes);
  JobRound::add_quiet_flag(errand, clearing.quiet);
}

std::optional<int> check_consent(const Errand& errand, const TubeClearing& clearing) {
  if (clearing.yes || ::isatty(STDIN_FILENO) != 0) return std::nullopt;
  return errand.mistake("without a terminal, --yes is required");
}

int clear_tube(Errand& errand, const TubeClearing& clearing) {
  JobRound round(errand, "deleted", clearing.quiet);
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
