// haricot jobs: prints a table of jobs, page by page.

#include <algorithm>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "os/clock.hpp"
#include "tool/cli/output.hpp"
#include "tool/client/errand.hpp"
#include "tool/client/list_page.hpp"
#include "tool/client/put_tags.hpp"
#include "tool/client/sample.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "jobs", "[OPTIONS] [TUBE]",
    "Prints a table of the jobs of a tube, or of the server, in the order of their ids. --state\n"
    "without a tube visits the tubes that have such jobs, one after another. --next prints the\n"
    "next jobs of a tube in the order of service. --match prints only jobs whose body contains\n"
    "the text; the server then has to send all bodies. The tags of a job follow its tube. Jobs\n"
    "change while the table is printed: each line is a snapshot. Requires haricotd, because\n"
    "beanstalkd cannot list jobs.\n",
    "    haricot jobs --state buried                         # all buried jobs\n"
    "    haricot jobs mail --next --count 10                 # the next ten jobs for workers\n"
    "    haricot jobs mail --match customer-17\n"};

// Number of bodies that are requested at once.
constexpr std::size_t kPeeks = 100;
// Largest number of tubes that are scanned one by one. Beyond it, listing all jobs costs less.
constexpr std::ptrdiff_t kScansMax = 16;

constexpr std::string_view kStates[] = {"ready", "reserved", "delayed", "buried"};

struct Choice {
  std::string tube;
  std::string state;
  std::string text;
  std::uint64_t count = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t from = 1;
  bool next = false;
  bool quiet = false;
};

constexpr ListColumn kColumns[] = {{"id", "id", 8},
                                   {"state", "state", 8},
                                   {"pri", "pri", 10},
                                   {"age", "age", 8},
                                   {"left", "time-left", 8},
                                   {"ttr", "ttr", 6},
                                   {"reserves", "reserves", 8},
                                   {"holder", "holder", 6},
                                   {"buried-by", "buried-by", 9},
                                   {"bytes", "bytes", 8},
                                   {"tube", "tube", 0}};

std::uint64_t jobs_in(const TubeStats& tube, std::string_view state) {
  if (state == "ready") return tube.ready;
  if (state == "reserved") return tube.reserved;
  return state == "delayed" ? tube.delayed : tube.buried;
}

std::uint64_t id_of(const StatsText& job) {
  return job.number("id").value_or(0);
}

class Jobs {
 public:
  Jobs(Errand& errand, const Choice& choice)
      : errand_(errand),
        choice_(choice),
        progress_(
            "checked", choice.quiet,
            choice.text.empty() ? Progress::Results::as_they_come : Progress::Results::at_end),
        left_(choice.count) {}

  // Returns the message for an empty result.
  std::string none() const {
    if (choice_.tube.empty()) return "there is no such job";
    const bool is_state =
        std::find(std::begin(kStates), std::end(kStates), choice_.tube) != std::end(kStates);
    const bool is_mixed_up = is_state && choice_.state.empty();
    return "there is no such job in tube " + choice_.tube +
           (is_mixed_up ? "; for a state use --state" : "");
  }

  int run() {
    const std::optional<int> over = choice_.next ? show_next() : scan_all();
    if (over) return *over;
    progress_.clear();
    if (is_cut_off_) {
      errand_.warn("only the next " + std::to_string(kPageJobsMax) +
                   (choice_.text.empty() ? " jobs are listed" : " jobs were searched") +
                   "; the server lists no more in the order of service");
    }
    return shown_ > 0 ? errand_.done() : errand_.no(none());
  }

 private:
  enum class Order : bool { as_listed, by_id };

  // Returns the number of jobs to request in a page. With --match full pages, because the number of
  // matches is unknown before the bodies arrive.
  std::uint64_t jobs_to_ask() const {
    return choice_.text.empty() ? std::min(left_, kPageJobsMax) : kPageJobsMax;
  }

  // These functions return the exit status if the subcommand has to end.

  std::optional<int> show_next() {
    const std::string state = choice_.state.empty() ? "ready" : choice_.state;
    const std::string count = std::to_string(jobs_to_ask());
    const std::optional<int> over =
        show_page("list-jobs " + choice_.tube + " " + state + " " + count);
    is_cut_off_ = looked_at_ == kPageJobsMax && left_ > 0;
    return over;
  }

  // With a state and no tube, goes through the tubes that have jobs in this state, which may be
  // few. scan-jobs accepts a state only after a tube, and walks all jobs of the server each time.
  std::optional<int> scan_all() {
    if (!choice_.tube.empty() || choice_.state.empty()) return scan(choice_.tube);
    Sample sample;
    if (!take_sample(errand_.server(), {}, sample)) return errand_.failed();
    const std::vector<TubeStats>& tubes = sample.tubes;
    const auto is_long = [this](const TubeStats& tube) { return !is_short(tube); };
    if (std::count_if(tubes.begin(), tubes.end(), is_long) > kScansMax) return scan({});
    for (const TubeStats& tube : tubes) {
      if (left_ == 0 || jobs_in(tube, choice_.state) == 0) continue;
      const std::optional<int> over = is_short(tube) ? show_list(tube.name) : scan(tube.name);
      if (over) return over;
    }
    return std::nullopt;
  }

  // Returns true if one list-jobs shows all jobs of the tube in the state.
  bool is_short(const TubeStats& tube) const {
    const std::uint64_t jobs = jobs_in(tube, choice_.state);
    return jobs == 0 || (jobs <= kPageJobsMax && choice_.state != "reserved");
  }

  std::optional<int> show_list(const std::string& tube) {
    const std::string command =
        "list-jobs " + tube + " " + choice_.state + " " + std::to_string(kPageJobsMax);
    return show_page(command, Order::by_id);
  }

  // Shows the jobs of a tube, or of all tubes if the name is empty.
  std::optional<int> scan(const std::string& tube) {
    for (std::uint64_t from = choice_.from; from != 0 && left_ > 0;) {
      std::string command =
          "scan-jobs " + std::to_string(from) + " " + std::to_string(jobs_to_ask());
      if (!tube.empty()) command += " " + tube;
      if (!choice_.state.empty() && !tube.empty()) command += " " + choice_.state;
      if (const std::optional<int> over = show_page(command)) return over;
      from = page_.next;
    }
    return std::nullopt;
  }

  std::optional<int> show_page(const std::string& command, Order order = Order::as_listed) {
    const std::optional<Response> response = errand_.server().ask(command, ReplyCode::ok);
    if (!response) return errand_.failed();
    if (response->code == ReplyCode::not_found) {
      if (order == Order::by_id) return std::nullopt;  // The tube was deleted meanwhile.
      return errand_.no("there is no tube " + choice_.tube);
    }
    std::optional<JobPage> page = parse_job_page(response->body);
    if (!page) {
      errand_.server().cannot_read(command);
      return errand_.failed();
    }
    page_ = std::move(*page);
    looked_at_ += page_.jobs.size();
    progress_.show(os::read_clock(), looked_at_);
    std::erase_if(page_.jobs, [this](const StatsText& job) {
      const std::string* state = job.find("state");
      const bool is_other = state == nullptr || *state != choice_.state;
      return id_of(job) < choice_.from || (!choice_.state.empty() && is_other);
    });
    if (order == Order::by_id) {
      std::sort(page_.jobs.begin(), page_.jobs.end(),
                [](const StatsText& a, const StatsText& b) { return id_of(a) < id_of(b); });
    }
    if (!choice_.text.empty() && !keep_matches()) {
      progress_.clear();
      return errand_.failed();
    }
    for (const StatsText& job : page_.jobs) {
      if (left_ == 0) break;
      show(job);
      --left_;
    }
    const int status = errand_.done();
    return status == 0 ? std::nullopt : std::optional(status);
  }

  // Keeps only the jobs of the page whose body contains the text. Returns false if the server
  // failed.
  bool keep_matches() {
    std::vector<StatsText> matching;
    for (std::size_t begin = 0; begin < page_.jobs.size(); begin += kPeeks) {
      const std::size_t count = std::min(kPeeks, page_.jobs.size() - begin);
      const auto take = [&](StatsText& job, std::string_view body) {
        if (body.find(choice_.text) != std::string_view::npos) matching.push_back(std::move(job));
      };
      const std::span all(page_.jobs);
      if (!ask_bodies(errand_.server(), all.subspan(begin, count), take)) return false;
    }
    page_.jobs = std::move(matching);
    return true;
  }

  void show(const StatsText& job) {
    progress_.clear();
    if (errand_.json()) {
      print("{" + job.json_members() + "}\n");
    } else {
      if (shown_ == 0) print(titles_of(kColumns) + " tags\n");
      print(row_of(kColumns, job) + tags_of(job).text() + "\n");
    }
    ++shown_;
  }

  Errand& errand_;
  const Choice& choice_;
  Progress progress_;
  JobPage page_;
  std::uint64_t looked_at_ = 0;
  std::uint64_t left_;
  std::uint64_t shown_ = 0;
  bool is_cut_off_ = false;  // The server may have more jobs than list-jobs returns.
};

std::optional<int> check(const Errand& errand, const Choice& choice) {
  if (choice.next && choice.tube.empty()) return errand.mistake("--next requires a tube");
  if (choice.next && choice.from > 1) return errand.mistake("--next excludes --from");
  if (choice.next && choice.state == "reserved") {
    return errand.mistake("reserved jobs have no order, so --next excludes them");
  }
  return std::nullopt;
}

}  // namespace

int jobs(Words words) {
  Errand errand(kText);
  Choice choice;
  errand.add({'s', "state", "STATE", "only jobs in this state",
              [&choice](std::string_view value) {
                choice.state = value;
                return std::find(std::begin(kStates), std::end(kStates), value) !=
                       std::end(kStates);
              },
              "ready, reserved, delayed or buried"});
  errand.add({'m', "match", "TEXT", "only jobs whose body contains this text", set(choice.text),
              "a text"});
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
