// haricot failures: groups buried jobs by their notes and classes.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "haricot/base/encoding.hpp"
#include "tool/cli/output.hpp"
#include "tool/client/errand.hpp"
#include "tool/client/job_filter.hpp"
#include "tool/client/list_page.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "failures", "[OPTIONS] [TUBE]",
    "Groups the buried jobs of a tube, or of the server, by the first lines of their notes and by\n"
    "their classes (displayName, job or class of a JSON body), and prints the largest group\n"
    "first: its number of jobs, the times since the first and the last burial, the id of the job\n"
    "that was buried last, class and note. --group lists the jobs of groups with this text in\n"
    "note or class. The server has to send all these bodies. Requires haricotd.\n",
    "    haricot failures\n"
    "    haricot failures mail --since yesterday\n"
    "    haricot failures mail --group 'Connection timed out'\n"};

struct Choice {
  std::string tube;
  JobFilter filter;
  std::string group;
  std::uint64_t count = std::numeric_limits<std::uint64_t>::max();
  bool quiet = false;
};

struct Name {
  std::string note;  // First line.
  std::string job_class;

  auto operator<=>(const Name&) const = default;
};

struct Group {
  std::uint64_t jobs = 0;
  std::uint64_t first_s = 0;  // Time since the burial of the job that was buried first, or last.
  std::uint64_t last_s = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t id = 0;  // The job that was buried last.
};

std::string word_or_dash(const std::string& text) {
  return text.empty() ? "-" : safe_lines(text);
}

class Failures {
 public:
  Failures(Errand& errand, const Choice& choice)
      : errand_(errand), choice_(choice), progress_("checked", choice.quiet) {}

  int run() {
    JobSearch search(errand_, choice_.filter, kBuried, progress_);
    std::vector<std::string> tubes;
    if (!choice_.tube.empty()) tubes.push_back(choice_.tube);
    bool is_good = true;
    const auto take = [&](std::vector<StatsText>& jobs) {
      is_good = take_page(jobs);
      return is_good && (choice_.group.empty() || shown_ < choice_.count);
    };
    is_good = search.run(tubes, take) && is_good;
    progress_.clear();
    if (!is_good) return errand_.failed();
    if (choice_.group.empty()) show_groups();
    return shown_ > 0 ? errand_.done() : errand_.no("there is no such buried job");
  }

 private:
  // Returns false if the server failed.
  bool take_page(std::vector<StatsText>& jobs) {
    for (std::size_t begin = 0; begin < jobs.size(); begin += kTextsAtOnce) {
      const std::size_t count = std::min(kTextsAtOnce, jobs.size() - begin);
      const std::span some = std::span(jobs).subspan(begin, count);
      std::map<std::uint64_t, Name> names;
      std::vector<StatsText> noted;
      for (const StatsText& job : some) {
        if (job.find("note") != nullptr) noted.push_back(job);
      }
      const auto take_note = [&names](const StatsText& job, std::string_view note) {
        names[job.number("id").value_or(0)].note = first_line_of(note);
      };
      const auto take_body = [&](const StatsText& job, std::string_view body) {
        Name& name = names[job.number("id").value_or(0)];
        name.job_class = class_in(body);
        take(job, name);
      };
      Remote& server = errand_.server();
      if (!noted.empty() && !ask_notes(server, noted, take_note)) return false;
      if (!ask_bodies(server, some, take_body)) return false;
    }
    return true;
  }

  void take(const StatsText& job, const Name& name) {
    if (!choice_.group.empty()) {
      const bool is_in = name.note.find(choice_.group) != std::string::npos ||
                         name.job_class.find(choice_.group) != std::string::npos;
      if (is_in && shown_ < choice_.count) show_job(job, name);
      return;
    }
    const std::uint64_t ago_s = job.number("buried-ago").value_or(job.number("age").value_or(0));
    Group& group = groups_[name];
    ++group.jobs;
    group.first_s = std::max(group.first_s, ago_s);
    if (ago_s > group.last_s) return;
    group.last_s = ago_s;
    group.id = job.number("id").value_or(0);
  }

  void show_job(const StatsText& job, const Name& name) {
    static constexpr ListColumn kColumns[] = {
        {"id", "id", 8},    {"buried-by", "buried-by", 9}, {"ago", "buried-ago", 8},
        {"age", "age", 8},  {"reserves", "reserves", 8},   {"bytes", "bytes", 8},
        {"tube", "tube", 0}};
    progress_.clear();
    if (errand_.json()) {
      print("{" + job.json_members() + ",\"class\":" + json_string(name.job_class) + "}\n");
    } else {
      if (shown_ == 0) print(titles_of(kColumns) + " class note\n");
      print(row_of(kColumns, job) + " " + word_or_dash(name.job_class) + " " +
            word_or_dash(name.note) + "\n");
    }
    ++shown_;
  }

  void show_groups() {
    std::vector<std::pair<Name, Group>> groups(groups_.begin(), groups_.end());
    std::stable_sort(groups.begin(), groups.end(),
                     [](const auto& a, const auto& b) { return a.second.jobs > b.second.jobs; });
    for (const auto& [name, group] : groups) {
      if (shown_ == choice_.count) return;
      if (errand_.json()) {
        print("{\"jobs\":" + std::to_string(group.jobs) + ",\"first\":" +
              std::to_string(group.first_s) + ",\"last\":" + std::to_string(group.last_s) +
              ",\"id\":" + std::to_string(group.id) + ",\"class\":" + json_string(name.job_class) +
              ",\"note\":" + json_string(name.note) + "}\n");
      } else {
        std::string line;
        if (shown_ == 0) print("    jobs    first     last       id class note\n");
        append_cell(line, std::to_string(group.jobs), 8);
        append_cell(line, std::to_string(group.first_s), 8);
        append_cell(line, std::to_string(group.last_s), 8);
        append_cell(line, std::to_string(group.id), 8);
        print(line + " " + word_or_dash(name.job_class) + " " + word_or_dash(name.note) + "\n");
      }
      ++shown_;
    }
  }

  Errand& errand_;
  const Choice& choice_;
  Progress progress_;
  std::map<Name, Group> groups_;
  std::uint64_t shown_ = 0;
};

}  // namespace

int failures(Words words) {
  Errand errand(kText);
  Choice choice;
  choice.filter.add_flags(errand, kBuried);
  errand.add({'g', "group", "TEXT", "list the jobs of groups with this text", set(choice.group),
              "a text"});
  errand.add(count_flag("at most N groups or jobs", choice.count));
  Subjects subjects(errand);
  subjects.add_tube_flag();
  errand.add({'q', "quiet", "", "show no progress on a terminal", set(choice.quiet)});
  if (const std::optional<int> over = errand.read(words)) return *over;
  if (const std::optional<int> over = subjects.take(1)) return *over;
  choice.tube = subjects.tube();
  if (const std::optional<int> over = errand.connect()) return *over;
  return Failures(errand, choice).run();
}

}  // namespace haricot::tool
