// haricot jobs: a table of jobs, page by page.

#include <algorithm>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "haricot/base/number.hpp"
#include "haricot/protocol/tube_name.hpp"
#include "os/clock.hpp"
#include "tool/cli/progress.hpp"
#include "tool/cli/safe_text.hpp"
#include "tool/client/errand.hpp"
#include "tool/client/job_page.hpp"
#include "tool/client/put_tags.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "jobs", "[OPTIONS] [TUBE]",
    "Prints a table of the jobs of a tube, or of the server, in the order of their ids. With\n"
    "--next it prints the next jobs of a tube in the order in which they are served. With\n"
    "--match it prints only jobs whose body has the text in it, and the server has to send\n"
    "all bodies. The tags of a job stand behind its tube. Jobs change while the table is\n"
    "printed: each line is true for its moment. The server has to be haricotd, because\n"
    "beanstalkd cannot list jobs.\n",
    "    haricot jobs --state buried                         # what was put aside\n"
    "    haricot jobs mail --next --count 10                 # what workers get next\n"
    "    haricot jobs mail --match customer-17\n"};

// Bodies that are asked for at once.
constexpr std::size_t kPeeks = 100;

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

// A column is a key of the job. `width`: at least.
struct Column {
  std::string_view title;
  std::string_view key;
  int width;
};
constexpr Column kColumns[] = {{"id", "id", 8},
                               {"state", "state", 8},
                               {"pri", "pri", 10},
                               {"age", "age", 8},
                               {"left", "time-left", 8},
                               {"ttr", "ttr", 6},
                               {"reserves", "reserves", 8},
                               {"bytes", "bytes", 8},
                               {"tube", "tube", 0}};

void append_cell(std::string& line, std::string_view text, int width) {
  if (!line.empty()) line += ' ';
  line.append(static_cast<std::size_t>(std::max(0, width - static_cast<int>(text.size()))), ' ');
  line += text;
}

class Jobs {
 public:
  Jobs(Errand& errand, const Choice& choice)
      : errand_(errand),
        choice_(choice),
        progress_(
            "looked at", choice.quiet,
            choice.text.empty() ? Progress::Results::as_they_come : Progress::Results::at_end),
        left_(choice.count) {}

  // What is said if no job was found.
  std::string none() const {
    if (choice_.tube.empty()) return "there is no such job";
    const bool is_state =
        std::find(std::begin(kStates), std::end(kStates), choice_.tube) != std::end(kStates);
    const bool is_mixed_up = is_state && choice_.state.empty();
    return "there is no such job in tube " + choice_.tube +
           (is_mixed_up ? "; a state is named by --state" : "");
  }

  int run() {
    if (choice_.next) {
      const std::string state = choice_.state.empty() ? "ready" : choice_.state;
      const std::string count = std::to_string(jobs_to_ask());
      if (const auto over = show_page("list-jobs " + choice_.tube + " " + state + " " + count)) {
        return *over;
      }
    }
    for (std::uint64_t from = choice_.from; !choice_.next && from != 0 && left_ > 0;) {
      std::string command =
          "scan-jobs " + std::to_string(from) + " " + std::to_string(jobs_to_ask());
      if (!choice_.tube.empty()) command += " " + choice_.tube;
      if (!choice_.state.empty() && !choice_.tube.empty()) command += " " + choice_.state;
      if (const std::optional<int> over = show_page(command)) return *over;
      from = page_.next;
    }
    progress_.clear();
    return shown_ > 0 ? errand_.done() : errand_.no(none());
  }

 private:
  // How many jobs a page has. Which of them match is known only when their bodies are here.
  std::uint64_t jobs_to_ask() const {
    return choice_.text.empty() ? std::min(left_, kPageJobsMax) : kPageJobsMax;
  }

  // Something: it is over, with this status.
  std::optional<int> show_page(const std::string& command) {
    const std::optional<Response> response = errand_.server().ask(command, ReplyCode::ok);
    if (!response) return errand_.failed();
    if (response->code == ReplyCode::not_found) {
      return errand_.no("there is no tube " + choice_.tube);
    }
    std::optional<JobPage> page = parse_job_page(response->body);
    if (!page) return errand_.no("the server's list of jobs cannot be read");
    page_ = std::move(*page);
    looked_at_ += page_.jobs.size();
    progress_.show(os::read_clock(), looked_at_);
    // scan-jobs takes a state only after a tube.
    std::erase_if(page_.jobs, [this](const StatsText& job) {
      const std::string* state = job.find("state");
      return !choice_.state.empty() && (state == nullptr || *state != choice_.state);
    });
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

  // Leaves only those jobs of the page whose body has the text in it. False: the server has failed.
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
      if (shown_ == 0) print_titles();
      std::string line;
      for (const Column& column : kColumns) {
        const std::string* value = job.find(column.key);
        append_cell(line, value == nullptr ? "-" : safe_word(*value), column.width);
      }
      print(line + tags_of(job).text() + "\n");
    }
    ++shown_;
  }

  static void print_titles() {
    std::string line;
    for (const Column& column : kColumns) append_cell(line, column.title, column.width);
    print(line + " tags\n");
  }

  Errand& errand_;
  const Choice& choice_;
  Progress progress_;
  JobPage page_;
  std::uint64_t looked_at_ = 0;
  std::uint64_t left_;
  std::uint64_t shown_ = 0;
};

std::optional<int> check(const Errand& errand, Choice& choice) {
  if (errand.operands().size() + (choice.tube.empty() ? 0U : 1U) > 1) {
    return errand.mistake("more than one tube");
  }
  if (!errand.operands().empty()) choice.tube = errand.operands().front();
  if (!choice.tube.empty() && !is_tube_name(choice.tube)) {
    return errand.mistake("'" + choice.tube + "' is not a tube's name");
  }
  if (choice.next && choice.tube.empty()) return errand.mistake("--next needs a tube");
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
  errand.add({'m', "match", "TEXT", "only jobs whose body has this text in it", set(choice.text),
              "a text"});
  errand.add({'n', "count", "N", "so many jobs at most",
              set_count(choice.count, 1, std::numeric_limits<std::uint64_t>::max()),
              "a number of at least 1"});
  errand.add({'i', "from", "ID", "begin with this id (1)",
              [&choice](std::string_view value) {
                choice.from = read_number(value).value_or(0);
                return choice.from > 0;
              },
              "the id of a job"});
  errand.add({'N', "next", "", "the next jobs of the tube, in the order of service; at most 1000",
              set(choice.next)});
  errand.add({'t', "tube", "TUBE", "the tube, as a flag", set_tube(choice.tube), "a tube's name"});
  errand.add({'q', "quiet", "", "show no progress on a terminal", set(choice.quiet)});
  if (const std::optional<int> over = errand.read(words)) return *over;
  if (const std::optional<int> over = check(errand, choice)) return *over;
  if (const std::optional<int> over = errand.connect()) return *over;
  return Jobs(errand, choice).run();
}

}  // namespace haricot::tool
