// haricot jobs: prints a table of jobs, page by page.

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "tool/cli/output.hpp"
#include "tool/client/errand.hpp"
#include "tool/client/job_filter.hpp"
#include "tool/client/list_page.hpp"
#include "tool/client/put_tags.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "jobs", "[OPTIONS] [TUBE]",
    "Prints a table of the jobs of a tube, or of the server, in the order of their ids. --state\n"
    "without a tube visits the tubes that have such jobs, one after another. --next prints the\n"
    "next jobs of a tube in the order of service. Jobs must match all given filters; --match and\n"
    "--class make the server send all bodies. The tags and the note of a job follow its tube.\n"
    "Jobs change while the table is printed: each line is a snapshot. Requires haricotd, because\n"
    "beanstalkd cannot list jobs.\n",
    "    haricot jobs --state buried --since yesterday       # all that failed since yesterday\n"
    "    haricot jobs mail --next --count 10                 # the next ten jobs for workers\n"
    "    haricot jobs mail --match customer-17\n"};

struct Choice {
  std::string tube;
  JobFilter filter;
  std::uint64_t count = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t from = 1;
  bool next = false;
  bool quiet = false;
};

constexpr std::size_t kReasonColumn =
    8;  // Shows how long a job is held if only such jobs are shown.
constexpr std::array<ListColumn, 11> kColumns = {{{"id", "id", 8},
                                                  {"state", "state", 8},
                                                  {"pri", "pri", 10},
                                                  {"age", "age", 8},
                                                  {"left", "time-left", 8},
                                                  {"ttr", "ttr", 6},
                                                  {"reserves", "reserves", 8},
                                                  {"holder", "holder", 6},
                                                  {"buried-by", "buried-by", 9},
                                                  {"bytes", "bytes", 8},
                                                  {"tube", "tube", 0}}};
constexpr ListColumn kReservedFor = {"held-for", "reserved-for", 9};

class Jobs {
 public:
  Jobs(Errand& errand, const Choice& choice)
      : errand_(errand),
        choice_(choice),
        columns_(kColumns),
        progress_("checked", choice.quiet,
                  choice.filter.needs_body() ? Progress::Results::at_end
                                             : Progress::Results::as_they_come),
        left_(choice.count) {
    if (choice.filter.states_or(kAllStates) == kReserved) columns_[kReasonColumn] = kReservedFor;
  }

  int run() {
    const JobStates states = choice_.filter.states_or(choice_.next ? kReady : kAllStates);
    JobSearch search(errand_, choice_.filter, states, progress_);
    search.set_from(choice_.from);
    // Full pages if the number of matches is unknown before texts arrive.
    const bool is_whole = choice_.filter.needs_body() || choice_.filter.needs_note();
    search.set_page(is_whole ? kPageJobsMax : std::min(left_, kPageJobsMax));
    const auto take = [this](const std::vector<StatsText>& jobs) { return show(jobs); };
    bool is_there = true;
    std::vector<std::string> tubes;
    if (!choice_.tube.empty()) tubes.push_back(choice_.tube);
    const bool is_good =
        choice_.next ? search.run_next(choice_.tube, take, is_there) : search.run(tubes, take);
    progress_.clear();
    if (!is_good) return errand_.failed();
    if (!is_there) return errand_.no("there is no tube " + choice_.tube);
    if (choice_.next && search.searched() == kPageJobsMax && left_ > 0) {
      errand_.warn("only the next " + std::to_string(kPageJobsMax) +
                   (is_whole ? " jobs were searched" : " jobs are listed") +
                   "; the server lists no more in the order of service");
    }
    return shown_ > 0 ? errand_.done() : errand_.no(none());
  }

 private:
  // Returns the message for an empty result.
  std::string none() const {
    if (choice_.tube.empty()) return "there is no such job";
    const bool is_state = std::find(std::begin(kJobStates), std::end(kJobStates), choice_.tube) !=
                          std::end(kJobStates);
    return "there is no such job in tube " + choice_.tube +
           (is_state && !choice_.filter.is_given() ? "; for a state use --state" : "");
  }

  // Returns false if no more jobs are wanted, or stdout has failed.
  bool show(const std::vector<StatsText>& jobs) {
    for (const StatsText& job : jobs) {
      if (left_ == 0) break;
      show(job);
      --left_;
    }
    return left_ > 0 && errand_.done() == kExitDone;
  }

  void show(const StatsText& job) {
    progress_.clear();
    ++shown_;
    if (errand_.json()) {
      print("{" + job.json_members() + "}\n");
      return;
    }
    if (shown_ == 1) print(titles_of(columns_) + " tags note\n");
    const std::string* note = job.find("note");
    print(row_of(columns_, job) + tags_of(job).text() +
          (note == nullptr ? "" : " \"" + safe_lines(*note) + "\"") + "\n");
  }

  Errand& errand_;
  const Choice& choice_;
  std::array<ListColumn, 11> columns_;
  Progress progress_;
  std::uint64_t left_;
  std::uint64_t shown_ = 0;
};

std::optional<int> check(const Errand& errand, const Choice& choice) {
  if (choice.next && choice.tube.empty()) return errand.mistake("--next requires a tube");
  if (choice.next && choice.from > 1) return errand.mistake("--next excludes --from");
  return std::nullopt;
}

}  // namespace

int jobs(Words words) {
  Errand errand(kText);
  Choice choice;
  choice.filter.add_flags(errand, kAllStates);
  errand.add(count_flag("at most N jobs", choice.count));
  errand.add(from_flag(choice.from));
  errand.add({'N', "next", "", "the next jobs of the tube in the order of service, at most 1000",
              set(choice.next)});
  Subjects subjects(errand);
  subjects.add_tube_flag();
  errand.add({'q', "quiet", "", "show no progress on a terminal", set(choice.quiet)});
  if (const std::optional<int> over = errand.read(words)) return *over;
  if (const std::optional<int> over = subjects.take(1)) return *over;
  choice.tube = subjects.tube();
  if (const std::optional<int> over = check(errand, choice)) return *over;
  if (const std::optional<int> over = errand.connect()) return *over;
  return Jobs(errand, choice).run();
}

}  // namespace haricot::tool
