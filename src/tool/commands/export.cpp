// haricot export: all jobs as lines of JSON.

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "haricot/base/json.hpp"
#include "haricot/base/utf8.hpp"
#include "haricot/protocol/tube_name.hpp"
#include "os/clock.hpp"
#include "tool/cli/progress.hpp"
#include "tool/client/errand.hpp"
#include "tool/client/job_page.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "export", "[OPTIONS] [TUBE...]",
    "Writes the jobs of the server, or of these tubes, as lines of JSON, which import reads.\n"
    "A line has the statistics of its job, and its body as \"body\" if that is UTF-8, otherwise\n"
    "as \"body_base64\". export changes nothing. Jobs change meanwhile: each line is true for its\n"
    "moment, and a job that is there all the time is written once. The server has to be\n"
    "haricotd. beanstalkd cannot list jobs: if it has a binlog, stop it, and use haricot binlog\n"
    "dump --json, whose lines import reads too.\n"};

constexpr std::uint64_t kPageJobs = 1000;  // The most that a server takes.
// Bodies that are asked for at once: so many, and fewer if they are large.
constexpr std::size_t kPeeksMax = 100;
constexpr std::uint64_t kPeekBytesMax = 1024 * 1024;

class Export {
 public:
  Export(Errand& errand, bool is_quiet)
      : errand_(errand), progress_("exported", is_quiet, Progress::Results::as_they_come) {}

  // False: it is over, with `status`; the message is printed.
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

  // Of one tube, or with an empty name of all. Something: it is over, with this status.
  std::optional<int> run(const std::string& tube) {
    for (std::uint64_t from = 1; from != 0;) {
      std::string command = "scan-jobs " + std::to_string(from) + " " + std::to_string(kPageJobs);
      if (!tube.empty()) command += " " + tube;
      const std::optional<Response> response = errand_.server().ask(command, ReplyCode::ok);
      if (!response) return fail();
      const std::optional<JobPage> page = parse_job_page(response->body);
      if (!page) return errand_.no("the server's list of jobs cannot be read");
      for (std::size_t begin = 0; begin < page->jobs.size();) {
        const std::size_t end = batch_end(page->jobs, begin);
        if (!write_jobs(page->jobs, begin, end)) return fail();
        begin = end;
      }
      if (const int status = errand_.done(); status != 0) return status;
      from = page->next;
    }
    return std::nullopt;
  }

 private:
  int fail() {
    progress_.clear();
    if (written_ > 0) {
      errand_.warn("not all jobs are written: " + std::to_string(written_) + " of " +
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

  // False: the server failed.
  bool write_jobs(const std::vector<StatsText>& jobs, std::size_t begin, std::size_t end) {
    std::string commands;
    for (std::size_t i = begin; i < end; ++i) {
      commands += "peek " + std::to_string(jobs[i].number("id").value_or(0)) + "\r\n";
    }
    std::size_t at = begin;
    const auto take = [&](const Answer& answer) {
      // A job that is not found is gone meanwhile.
      if (answer.code == ReplyCode::found) write_job(jobs[at], answer.body);
      ++at;
    };
    const bool is_good = errand_.server().ask("peek", commands, end - begin, take);
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
};

}  // namespace

int export_jobs(Words words) {
  Errand errand(kText, Errand::Json::no);
  bool is_quiet = false;
  errand.add({'q', "quiet", "", "show no progress on a terminal", set(is_quiet)});
  if (const std::optional<int> over = errand.read(words)) return *over;
  std::vector<std::string> tubes;
  for (const std::string_view name : errand.operands()) {
    std::string tube(name);
    if (!is_tube_name(tube)) return errand.mistake("'" + tube + "' is not a tube's name");
    if (std::find(tubes.begin(), tubes.end(), tube) != tubes.end()) {
      return errand.mistake("tube " + tube + " comes twice");
    }
    tubes.push_back(std::move(tube));
  }
  if (tubes.empty()) tubes.emplace_back();
  if (const std::optional<int> over = errand.connect()) return *over;
  Export all(errand, is_quiet);
  int status = 0;
  for (const std::string& tube : tubes) {
    if (!all.count_jobs(tube, status)) return status;
  }
  for (const std::string& tube : tubes) {
    if (const std::optional<int> over = all.run(tube)) return *over;
  }
  return errand.done();
}

}  // namespace haricot::tool
