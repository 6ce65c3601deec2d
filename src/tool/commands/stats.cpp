// haricot stats: what a server says of itself, a tube or a job.

#include <string>

#include "haricot/base/number.hpp"
#include "haricot/protocol/tube_name.hpp"
#include "tool/cli/safe_text.hpp"
#include "tool/client/errand.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "stats", "[OPTIONS] [TUBE|JOB]",
    "Prints the statistics of the server, of a tube, or of a job. Digits are the id of a job,\n"
    "and anything else is the name of a tube. If the name of a tube is made of digits, use\n"
    "--tube. The last key of the server's statistics is server: haricotd or beanstalkd.\n"};

// A key that the tool adds.
constexpr std::string_view kServerKey = "server";

// What is asked for, and what it is called when it is not there.
struct Subject {
  std::string command = "stats";
  std::string name;
};

Subject tube_subject(const std::string& tube) {
  return {"stats-tube " + tube, "tube " + tube};
}

Subject job_subject(std::uint64_t id) {
  return {"stats-job " + std::to_string(id), "job " + std::to_string(id)};
}

int print_value(const Errand& errand, const StatsText& stats, const std::string& key) {
  const StatsText::Line* line = stats.find_line(key);
  if (line == nullptr) return errand.no("there is no " + key + " in the statistics");
  print((errand.json() ? stats.json_value(*line) : safe_word(line->value)) + "\n");
  return errand.done();
}

void print_all(const Errand& errand, const StatsText& stats) {
  if (errand.json()) {
    print("{" + stats.json_members() + "}\n");
    return;
  }
  for (const StatsText::Line& line : stats.lines()) {
    print(safe_word(line.key) + ": " + safe_word(line.value) + "\n");
  }
}

}  // namespace

int stats(Words words) {
  Errand errand(kText);
  std::string tube;
  std::string job;
  std::string key;
  errand.add({'t', "tube", "TUBE", "statistics of this tube", set_tube(tube), "a tube's name"});
  errand.add({'i', "job", "ID", "statistics of this job",
              [&job](std::string_view value) {
                job = value;
                return read_number(value).has_value();
              },
              "the id of a job"});
  errand.add({'k', "key", "KEY", "print only the value of this key", set(key), "a key"});
  if (const std::optional<int> over = errand.read(words)) return *over;
  const std::size_t subjects =
      errand.operands().size() + (tube.empty() ? 0 : 1) + (job.empty() ? 0 : 1);
  if (subjects > 1) return errand.mistake("more than one tube or job");

  Subject subject;
  if (!tube.empty()) subject = tube_subject(tube);
  if (!job.empty()) subject = job_subject(*read_number(job));
  if (!errand.operands().empty()) {
    const std::string operand(errand.operands().front());
    const std::optional<std::uint64_t> id = read_number(operand);
    if (!id && !is_tube_name(operand)) {
      return errand.mistake("'" + operand + "' is neither a tube's name nor a job's id");
    }
    subject = id ? job_subject(*id) : tube_subject(operand);
  }

  if (const std::optional<int> over = errand.connect()) return *over;
  bool is_there = false;
  std::optional<StatsText> found = errand.server().ask_stats(subject.command, is_there);
  if (!found) return errand.failed();
  if (subject.name.empty() && (key.empty() || key == kServerKey)) {
    const std::optional<std::string_view> kind = errand.server().ask_kind();
    if (!kind) return errand.failed();
    found->add({std::string(kServerKey), std::string(*kind)});
  }
  if (!is_there) return errand.no("there is no " + subject.name);
  if (!key.empty()) return print_value(errand, *found, key);
  print_all(errand, *found);
  return errand.done();
}

}  // namespace haricot::tool
