// haricot export: writes all jobs as lines of JSON.

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "haricot/base/encoding.hpp"
#include "os/clock.hpp"
#include "tool/cli/job_line.hpp"
#include "tool/cli/output.hpp"
#include "tool/client/errand.hpp"
#include "tool/client/job_filter.hpp"
#include "tool/client/list_page.hpp"
#include "tool/client/put_tags.hpp"
#include "tool/client/remote.hpp"
#include "tool/client/stats_text.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "export", "[OPTIONS] [TUBE...]",
    "Writes the jobs of the server, or of these tubes, as lines of JSON that import reads: all, "
    "or\n"
    "those that all given filters match. A line has the statistics of its job, and its body as\n"
    "\"body\" if it is UTF-8, otherwise as \"body_base64\", and so its note. Held jobs come last,\n"
    "after the jobs that they wait for. --sample 1% writes one job in a hundred, chosen by the\n"
    "ids, the same each time. export changes nothing. Jobs change meanwhile: each line is a\n"
    "snapshot, and a job that exists all the time is written once. beanstalkd cannot list jobs:\n"
    "--by-id asks for each id, from the newest down, until all jobs are found. To learn the "
    "newest\n"
    "id, it puts a delayed job into a tube of its own and deletes it. --by-id does not see the\n"
    "tags of haricotd's jobs. For a stopped beanstalkd with a binlog, haricot binlog dump --json\n"
    "has all jobs.\n",
    "    haricot export > jobs.json\n"
    "    haricot export mail --state buried --class SendInvoice > failed.json\n"
    "    haricot -a old-queue export --by-id mail | haricot -a new-queue import\n"};

constexpr std::string_view kAdvice =
    "--by-id asks for each id instead; or stop the server and use haricot binlog dump --json";

// Bounds of the bodies that are requested at once.
constexpr std::size_t kPeeksMax = 100;
constexpr std::uint64_t kPeekBytesMax = 1024 * 1024;

// Finds the jobs of a server that cannot list them, by asking for each possible id.

// Servers assign ids in ascending order. So the search puts a delayed job into a tube of its own,
// deletes it, and asks for the ids below it in descending order. It ends when it has found as many
// jobs as the server has, or at id 1. A server in drain mode accepts no job, but gets no new jobs
// either: there the search ascends from id 1 until it has found all jobs.
//
// A call that returns nothing or false has set failure() of the server.
class IdSearch final {
 public:
  // Finds jobs of these tubes, or of all tubes if `tubes` is empty. Requires: `server` outlives the
  // object.
  IdSearch(Remote& server, std::vector<std::string> tubes)
      : server_(server), tubes_(std::move(tubes)) {}

  // Shows progress: `done` of `all` ids; 0 if unknown.
  using Show = std::function<void(std::uint64_t done, std::uint64_t all)>;

  // Returns the ids of the jobs in ascending order. A job is included if it exists during the whole
  // call.
  std::optional<std::vector<std::uint64_t>> find(const Show& show);

  // Returns the statistics of those jobs that still exist and are in one of the tubes, in order.
  // Costs a round trip.
  std::optional<std::vector<StatsText>> ask_jobs(std::span<const std::uint64_t> ids);

 private:
  [[nodiscard]] bool find_bound();
  [[nodiscard]] bool add_next();
  // Returns true if found_ has all jobs that existed when the call began; nothing if the server
  // failed.
  std::optional<bool> has_all();
  std::optional<std::uint64_t> count_jobs();
  [[nodiscard]] bool drop_gone();

  Remote& server_;
  std::vector<std::string> tubes_;
  std::uint64_t bound_ = 0;  // Upper bound of the ids, exclusive; 0 in drain mode.
  std::uint64_t asked_ = 0;  // Number of ids asked for: from bound_ down, or from 1 up.
  std::vector<std::uint64_t> found_;
};

// Number of ids that are requested at once.
constexpr std::uint64_t kIdsPerRound = 1000;

std::optional<std::vector<StatsText>> IdSearch::ask_jobs(std::span<const std::uint64_t> ids) {
  std::string commands;
  for (const std::uint64_t id : ids) commands += "stats-job " + std::to_string(id) + "\r\n";
  std::vector<StatsText> jobs;
  ReplyCode refusal = ReplyCode::none;
  std::string refused;
  const auto take = [&](const Answer& answer) {
    if (answer.code == ReplyCode::not_found) return;
    std::optional<StatsText> job;
    if (answer.code == ReplyCode::ok) job = StatsText::parse(answer.body);
    const std::string* tube = job ? job->find("tube") : nullptr;
    if (tube == nullptr || !job->number("id")) {
      refusal = answer.code;
      refused = std::string(answer.line);
      return;
    }
    if (!tubes_.empty() && std::find(tubes_.begin(), tubes_.end(), *tube) == tubes_.end()) return;
    jobs.push_back(std::move(*job));
  };
  if (!server_.ask("stats-job", commands, ids.size(), take)) return std::nullopt;
  if (refusal == ReplyCode::none) return jobs;
  server_.refuse("stats-job", refusal, refused);
  return std::nullopt;
}

bool IdSearch::find_bound() {
  const std::string tube = "haricot-export-" + std::to_string(::getpid());
  if (!server_.ask("use " + tube, ReplyCode::now_using)) return false;
  // The longest delay, so that no worker gets the job, even one that watches all tubes.
  const auto put = server_.ask_together("put", "put 4294967295 4294967295 1 0\r\n\r\n", 1);
  if (!put) return false;
  const Response& answer = put->front();
  if (answer.code == ReplyCode::inserted || answer.code == ReplyCode::buried_new) {
    bound_ = answer.number;
    if (!server_.ask("delete " + std::to_string(bound_), ReplyCode::deleted)) return false;
  } else if (answer.code != ReplyCode::draining) {
    server_.refuse("put", answer.code, answer.line);
    return false;
  }
  return server_.ask("use default", ReplyCode::now_using).has_value();
}

std::optional<std::uint64_t> IdSearch::count_jobs() {
  std::vector<std::string> commands{"stats"};
  if (!tubes_.empty()) {
    commands.clear();
    for (const std::string& tube : tubes_) commands.push_back("stats-tube " + tube);
  }
  std::uint64_t count = 0;
  for (const std::string& command : commands) {
    bool is_there = false;
    const std::optional<StatsText> stats = server_.ask_stats(command, is_there);
    if (!stats) return std::nullopt;
    for (const std::string_view state : {"ready", "reserved", "delayed", "buried"}) {
      count += stats->number("current-jobs-" + std::string(state)).value_or(0);
    }
  }
  return count;
}

bool IdSearch::add_next() {
  std::uint64_t first = asked_ + 1;
  std::uint64_t count = kIdsPerRound;
  if (bound_ != 0) {
    const std::uint64_t left = bound_ - 1 - asked_;
    count = std::min(count, left);
    first = left - count + 1;
  }
  std::vector<std::uint64_t> ids(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = first + i;
  const auto jobs = ask_jobs(ids);
  if (!jobs) return false;
  for (const StatsText& job : *jobs) found_.push_back(*job.number("id"));
  asked_ += count;
  return true;
}

bool IdSearch::drop_gone() {
  std::vector<std::uint64_t> left;
  for (std::size_t at = 0; at < found_.size(); at += kIdsPerRound) {
    const std::size_t count = std::min<std::size_t>(kIdsPerRound, found_.size() - at);
    const auto jobs = ask_jobs(std::span(found_).subspan(at, count));
    if (!jobs) return false;
    for (const StatsText& job : *jobs) left.push_back(*job.number("id"));
  }
  found_ = std::move(left);
  return true;
}

// Returns true if all jobs are found. Counts the jobs first, and then asks again for the found
// ones. A found job cannot come back. So if as many as counted still exist, they are all jobs of
// the moment of the count.
std::optional<bool> IdSearch::has_all() {
  const std::optional<std::uint64_t> count = count_jobs();
  if (!count) return std::nullopt;
  if (found_.size() < *count) return false;
  if (!drop_gone()) return std::nullopt;
  return found_.size() >= *count;
}

std::optional<std::vector<std::uint64_t>> IdSearch::find(const Show& show) {
  if (!find_bound()) return std::nullopt;
  // While jobs come and go, has_all() may ask for all found jobs again. So call it only after
  // asking for as many new ids.
  std::uint64_t next_look = 0;
  while (bound_ == 0 || asked_ + 1 < bound_) {
    if (asked_ >= next_look) {
      const std::optional<bool> is_over = has_all();
      if (!is_over) return std::nullopt;
      if (*is_over) break;
      next_look = asked_ + found_.size();
    }
    if (!add_next()) return std::nullopt;
    show(asked_, bound_);
  }
  std::sort(found_.begin(), found_.end());
  return std::move(found_);
}

struct Choice {
  std::vector<std::string> tubes;
  JobFilter filter;
  double percent = 100;  // Share of the jobs to write.
  bool is_quiet = false;
  bool is_by_id = false;
};

// Reads 1, 0.5% or 100%.
bool read_percent(std::string_view text, double& to) {
  if (text.ends_with('%')) text.remove_suffix(1);
  const std::string digits(text);
  char* end = nullptr;
  to = std::strtod(digits.c_str(), &end);
  const bool is_number = !digits.empty() && end == digits.c_str() + digits.size() &&
                         digits.find_first_not_of("0123456789.") == std::string::npos;
  return is_number && to > 0 && to <= 100;
}

// Returns NAME and the text as JSON, or NAME_base64 if it is not UTF-8.
std::string json_member(const std::string& name, std::string_view text) {
  return is_utf8(text) ? json_string(name) + ":" + json_string(text)
                       : json_string(name + "_base64") + ":" + json_base64(text);
}

// Returns true for `percent` of all ids, the same ones each time.
bool is_sampled(std::uint64_t id, double percent) {
  // The finalizer of MurmurHash3 spreads consecutive ids evenly.
  id = (id ^ (id >> 33U)) * 0xff51afd7ed558ccdU;
  id = (id ^ (id >> 33U)) * 0xc4ceb9fe1a85ec53U;
  id ^= id >> 33U;
  return static_cast<double>(id >> 11U) < percent / 100 * static_cast<double>(1ULL << 53U);
}

class Export {
 public:
  Export(Errand& errand, const Choice& choice)
      : errand_(errand),
        choice_(choice),
        progress_("exported", choice.is_quiet, Progress::Results::as_they_come) {}

  // Adds the number of jobs of a tube, or of the server if the name is empty, to all_. On failure
  // prints a message, sets `status` and returns false.
  bool count_jobs(const std::string& tube, int& status) {
    bool is_there = false;
    const std::string command = tube.empty() ? "stats" : "stats-tube " + tube;
    const std::optional<StatsText> stats = errand_.server().ask_stats(command, is_there);
    if (!stats) {
      status = errand_.failed();
    } else if (!is_there) {
      status = errand_.no("there is no tube " + tube);
    } else {
      for (const std::string_view state : kJobStates) {
        all_ += stats->number("current-jobs-" + std::string(state)).value_or(0);
      }
    }
    return stats && is_there;
  }

  // Writes the jobs, except held jobs. On failure returns the exit status.
  std::optional<int> run() {
    Progress searching("checked", choice_.is_quiet);
    JobSearch search(errand_, choice_.filter, choice_.filter.states_or(kAllStates), searching);
    bool is_good = true;
    const auto take = [&](std::vector<StatsText>& jobs) {
      std::erase_if(jobs, [this](const StatsText& job) {
        return !is_sampled(job.number("id").value_or(0), choice_.percent);
      });
      const auto held = std::stable_partition(jobs.begin(), jobs.end(),
                                              [](const StatsText& job) { return !is_held(job); });
      held_.insert(held_.end(), std::move_iterator(held), std::move_iterator(jobs.end()));
      jobs.erase(held, jobs.end());
      searching.clear();
      is_good = write_in_batches(jobs);
      return is_good && errand_.done() == kExitDone;
    };
    if (search.run(choice_.tubes, take) && is_good) {
      const int status = errand_.done();
      return status == kExitDone ? std::nullopt : std::optional(status);
    }
    searching.clear();
    const bool is_unknown = errand_.server().failure().status == kExitRefused;
    return is_unknown && written_ == 0 ? errand_.failed(kAdvice) : fail();
  }

  // Writes the held jobs that run() has collected; called after all other jobs are written. On
  // failure returns the exit status.
  std::optional<int> write_held() {
    std::vector<HeldJob> ties;
    for (const StatsText& job : held_) {
      const PutTags put = tags_of(job);
      const JobTags tags = tags_in(put.text());
      ties.push_back({std::string(tags.group), std::string(tags.after)});
    }
    std::vector<StatsText> jobs;
    for (const std::size_t index : held_order(ties)) jobs.push_back(std::move(held_[index]));
    return write_in_batches(jobs) ? std::nullopt : std::optional(fail());
  }

  // Writes the jobs, for a server that cannot list jobs. On failure returns the exit
  // status.
  std::optional<int> run_by_id() {
    IdSearch search(errand_.server(), choice_.tubes);
    Progress searching("asked for ids:", choice_.is_quiet);
    const std::optional<std::vector<std::uint64_t>> found =
        search.find([&searching](std::uint64_t done, std::uint64_t all) {
          searching.show(os::read_clock(), done, all);
        });
    searching.clear();
    if (!found) return fail();
    all_ = found->size();
    const std::optional<std::size_t> batch = bodies_at_once();
    if (!batch) return fail();
    for (std::size_t begin = 0; begin < found->size(); begin += *batch) {
      const std::size_t count = std::min(*batch, found->size() - begin);
      std::optional<std::vector<StatsText>> jobs =
          search.ask_jobs(std::span(*found).subspan(begin, count));
      if (!jobs || !write_jobs(*jobs)) return fail();
      if (const int status = errand_.done(); status != 0) return status;
    }
    return std::nullopt;
  }

 private:
  // Returns the number of bodies to request at once when their sizes are unknown; nothing if the
  // server failed.
  std::optional<std::size_t> bodies_at_once() {
    bool is_there = false;
    const std::optional<StatsText> stats = errand_.server().ask_stats("stats", is_there);
    if (!stats) return std::nullopt;
    const std::uint64_t bytes = stats->number("max-job-size").value_or(kPeekBytesMax);
    return static_cast<std::size_t>(
        std::clamp<std::uint64_t>(kPeekBytesMax / std::max<std::uint64_t>(bytes, 1), 1, kPeeksMax));
  }

  int fail() {
    progress_.clear();
    if (written_ > 0) {
      errand_.warn("incomplete: jobs written: " + std::to_string(written_) + " of " +
                   std::to_string(all_));
    }
    return errand_.failed();
  }

  static std::size_t batch_end(const std::vector<StatsText>& jobs, std::size_t begin) {
    std::uint64_t bytes = 0;
    std::size_t end = begin;
    while (end < jobs.size() && end - begin < kPeeksMax &&
           (end == begin || bytes < kPeekBytesMax)) {
      bytes += jobs[end++].number("bytes").value_or(0);
    }
    return end;
  }

  // Returns false if the server failed.
  bool write_in_batches(std::vector<StatsText>& jobs) {
    for (std::size_t begin = 0; begin < jobs.size();) {
      const std::size_t end = batch_end(jobs, begin);
      if (!write_jobs(std::span(jobs).subspan(begin, end - begin))) return false;
      begin = end;
    }
    return true;
  }

  // Returns false if the server failed.
  bool write_jobs(std::span<StatsText> jobs) {
    if (!fetch_notes(jobs)) return false;
    const bool is_good =
        ask_bodies(errand_.server(), jobs,
                   [this](const StatsText& job, std::string_view body) { write_job(job, body); });
    progress_.show(os::read_clock(), written_, std::max(all_, written_));
    return is_good;
  }

  // Replaces the beginnings of notes, which lists have, by whole notes. Returns false if the server
  // failed.
  bool fetch_notes(std::span<StatsText> jobs) {
    std::vector<StatsText> noted;
    for (const StatsText& job : jobs) {
      if (job.find("note") != nullptr) noted.push_back(job);
    }
    if (noted.empty()) return true;
    const auto take = [this](const StatsText& job, std::string_view note) {
      notes_[job.number("id").value_or(0)] = note;
    };
    notes_.clear();
    if (!ask_notes(errand_.server(), noted, take)) return false;
    for (StatsText& job : jobs) job.remove("note");
    return true;
  }

  void write_job(const StatsText& job, std::string_view body) {
    const auto note = notes_.find(job.number("id").value_or(0));
    print("{" + job.json_members() +
          (note == notes_.end() ? "" : "," + json_member("note", note->second)) + "," +
          json_member("body", body) + "}\n");
    ++written_;
  }

  Errand& errand_;
  const Choice& choice_;
  Progress progress_;
  std::uint64_t all_ = 0;
  std::uint64_t written_ = 0;
  std::map<std::uint64_t, std::string> notes_;  // Notes of the current batch, by the ids of jobs.
  std::vector<StatsText> held_;                 // Without bodies.
};

}  // namespace

int export_jobs(Words words) {
  Errand errand(kText, Errand::Json::no);
  Choice choice;
  errand.add(
      {'i', "by-id", "", "ask for each id, if the server cannot list jobs", set(choice.is_by_id)});
  choice.filter.add_flags(errand, kAllStates);
  errand.add({0, "sample", "PERCENT", "only this share of the jobs, such as 1%",
              [&choice](std::string_view value) { return read_percent(value, choice.percent); },
              "a share above 0%, up to 100%"});
  Subjects subjects(errand);
  subjects.add_tube_flag("tube, same as an operand; may be repeated");
  errand.add({'q', "quiet", "", "show no progress on a terminal", set(choice.is_quiet)});
  if (const std::optional<int> over = errand.read(words)) return *over;
  if (const std::optional<int> over = subjects.take(Subjects::kAnyNumber)) return *over;
  choice.tubes = subjects.tubes();
  if (choice.is_by_id && (choice.filter.is_given() || choice.percent < 100)) {
    return errand.mistake("--by-id excludes filters and --sample");
  }
  if (const std::optional<int> over = errand.connect()) return *over;
  Export all(errand, choice);
  int status = 0;
  if (choice.tubes.empty() && !all.count_jobs({}, status)) return status;
  for (const std::string& tube : choice.tubes) {
    if (!all.count_jobs(tube, status)) return status;
  }
  if (choice.is_by_id) {
    const std::optional<int> over = all.run_by_id();
    return over ? *over : errand.done();
  }
  if (const std::optional<int> over = all.run()) return *over;
  if (const std::optional<int> over = all.write_held()) return *over;
  return errand.done();
}

}  // namespace haricot::tool
