// haricot export: writes all jobs as lines of JSON.

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
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
#include "tool/client/list_page.hpp"
#include "tool/client/put_tags.hpp"
#include "tool/client/remote.hpp"
#include "tool/client/stats_text.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "export", "[OPTIONS] [TUBE...]",
    "Writes the jobs of the server, or of these tubes, as lines of JSON that import reads. A\n"
    "line has the statistics of its job, and its body as \"body\" if it is UTF-8, otherwise as\n"
    "\"body_base64\". Held jobs come last, after the jobs that they wait for. export changes\n"
    "nothing. Jobs change meanwhile: each line is a snapshot, and a job that exists all the time\n"
    "is written once. beanstalkd cannot list jobs: --by-id asks for each id, from the newest\n"
    "down, until all jobs are found. To learn the newest id, it puts a delayed job into a tube\n"
    "of its own and deletes it. --by-id does not see the tags of haricotd's jobs. For a stopped\n"
    "beanstalkd with a binlog, haricot binlog dump --json has all jobs.\n",
    "    haricot export > jobs.json\n"
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
class JobSearch final {
 public:
  // Finds jobs of these tubes, or of all tubes if `tubes` is empty. Requires: `server` outlives the
  // object.
  JobSearch(Remote& server, std::vector<std::string> tubes)
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

std::optional<std::vector<StatsText>> JobSearch::ask_jobs(std::span<const std::uint64_t> ids) {
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

bool JobSearch::find_bound() {
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

std::optional<std::uint64_t> JobSearch::count_jobs() {
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

bool JobSearch::add_next() {
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

bool JobSearch::drop_gone() {
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
std::optional<bool> JobSearch::has_all() {
  const std::optional<std::uint64_t> count = count_jobs();
  if (!count) return std::nullopt;
  if (found_.size() < *count) return false;
  if (!drop_gone()) return std::nullopt;
  return found_.size() >= *count;
}

std::optional<std::vector<std::uint64_t>> JobSearch::find(const Show& show) {
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

class Export {
 public:
  Export(Errand& errand, bool is_quiet)
      : errand_(errand), progress_("exported", is_quiet, Progress::Results::as_they_come) {}

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
      for (const std::string_view state : {"ready", "reserved", "delayed", "buried"}) {
        all_ += stats->number("current-jobs-" + std::string(state)).value_or(0);
      }
    }
    return stats && is_there;
  }

  // Writes the jobs of a tube, or of the server if the name is empty, except held jobs. On failure
  // returns the exit status.
  std::optional<int> run(const std::string& tube) {
    for (std::uint64_t from = 1; from != 0;) {
      std::string command =
          "scan-jobs " + std::to_string(from) + " " + std::to_string(kPageJobsMax);
      if (!tube.empty()) command += " " + tube;
      const std::optional<Response> response = errand_.server().ask(command);
      if (!response) return fail();
      if (response->code != ReplyCode::ok) {
        errand_.server().refuse("scan-jobs", response->code, response->line);
        if (response->code == ReplyCode::unknown_command) return errand_.failed(kAdvice);
        return fail();
      }
      std::optional<JobPage> page = parse_job_page(response->body);
      if (!page) {
        errand_.server().cannot_read(command);
        return fail();
      }
      const auto held = std::stable_partition(page->jobs.begin(), page->jobs.end(),
                                              [](const StatsText& job) { return !is_held(job); });
      held_.insert(held_.end(), std::move_iterator(held), std::move_iterator(page->jobs.end()));
      page->jobs.erase(held, page->jobs.end());
      if (!write_in_batches(page->jobs)) return fail();
      if (const int status = errand_.done(); status != 0) return status;
      from = page->next;
    }
    return std::nullopt;
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

  // Writes the jobs of these tubes, for a server that cannot list jobs. On failure returns the exit
  // status.
  std::optional<int> run_by_id(std::vector<std::string> tubes, bool is_quiet) {
    JobSearch search(errand_.server(), std::move(tubes));
    Progress searching("asked for ids:", is_quiet);
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
    const bool is_good =
        ask_bodies(errand_.server(), jobs,
                   [this](const StatsText& job, std::string_view body) { write_job(job, body); });
    progress_.show(os::read_clock(), written_, std::max(all_, written_));
    return is_good;
  }

  void write_job(const StatsText& job, std::string_view body) {
    print(
        "{" + job.json_members() + "," +
        (is_utf8(body) ? "\"body\":" + json_string(body) : "\"body_base64\":" + json_base64(body)) +
        "}\n");
    ++written_;
  }

  Errand& errand_;
  Progress progress_;
  std::uint64_t all_ = 0;
  std::uint64_t written_ = 0;
  std::vector<StatsText> held_;  // Without bodies.
};

}  // namespace

int export_jobs(Words words) {
  Errand errand(kText, Errand::Json::no);
  bool is_quiet = false;
  bool is_by_id = false;
  errand.add({'i', "by-id", "", "ask for each id, if the server cannot list jobs", set(is_by_id)});
  Subjects subjects(errand);
  subjects.add_tube_flag("tube, same as an operand; may be repeated");
  errand.add({'q', "quiet", "", "show no progress on a terminal", set(is_quiet)});
  if (const std::optional<int> over = errand.read(words)) return *over;
  if (const std::optional<int> over = subjects.take(Subjects::kAnyNumber)) return *over;
  std::vector<std::string> tubes = subjects.tubes();
  if (tubes.empty()) tubes.emplace_back();
  if (const std::optional<int> over = errand.connect()) return *over;
  Export all(errand, is_quiet);
  int status = 0;
  for (const std::string& tube : tubes) {
    if (!all.count_jobs(tube, status)) return status;
  }
  if (is_by_id) {
    if (subjects.empty()) tubes.clear();
    const std::optional<int> over = all.run_by_id(std::move(tubes), is_quiet);
    return over ? *over : errand.done();
  }
  for (const std::string& tube : tubes) {
    if (const std::optional<int> over = all.run(tube)) return *over;
  }
  if (const std::optional<int> over = all.write_held()) return *over;
  return errand.done();
}

}  // namespace haricot::tool
