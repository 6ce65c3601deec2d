// haricot stats: what a server says of itself, a tube or a job.

#include <string>
#include <utility>
#include <vector>

#include "haricot/base/json.hpp"
#include "haricot/base/number.hpp"
#include "haricot/protocol/tube_name.hpp"
#include "tool/cli/safe_text.hpp"
#include "tool/client/errand.hpp"
#include "tool/client/sums.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "stats", "[OPTIONS] [TUBE|JOB]",
    "Prints the statistics of the server, of a tube, or of a job. Digits are the id of a job,\n"
    "and anything else is the name of a tube. If the name of a tube is made of digits, use\n"
    "--tube. The last key of the server's statistics is server: haricotd or beanstalkd.\n",
    "    haricot stats\n"
    "    haricot stats mail --key current-jobs-ready\n"
    "    haricot -a queue1,queue2 stats --key current-jobs-ready\n"};

// A key that the tool adds.
constexpr std::string_view kServerKey = "server";

// What is asked for, and what it is called when it is not there.
struct Subject {
  std::string command = "stats";
  std::string name;
  bool is_job = false;
};

Subject tube_subject(const std::string& tube) {
  return {"stats-tube " + tube, "tube " + tube, false};
}

Subject job_subject(std::uint64_t id) {
  return {"stats-job " + std::to_string(id), "job " + std::to_string(id), true};
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

void add_server(StatsText& stats) {
  stats.add({std::string(kServerKey), std::string(server_kind(stats))});
}

// What one of several servers says. Nothing: the subject is not there, or the server failed; then
// the message is printed, and `status` is the exit status.
std::optional<StatsText> ask(Errand& errand, Remote& server, const Subject& subject, int& status) {
  bool is_there = false;
  std::optional<StatsText> found;
  if (server.open()) found = server.ask_stats(subject.command, is_there);
  if (!found) {
    status = errand.failed(server);
    return std::nullopt;
  }
  if (is_there && subject.name.empty()) add_server(*found);
  return is_there ? std::move(found) : std::nullopt;
}

struct Part {
  std::string address;
  StatsText stats;
};

int print_values(const Errand& errand, const std::vector<Part>& parts, const StatsText& sum,
                 const std::string& key) {
  if (const StatsText::Line* line = sum.find_line(key)) {
    print(line->value + "\n");
    return 0;
  }
  bool is_known = false;
  for (const Part& part : parts) {
    const std::string* value = part.stats.find(key);
    if (value == nullptr) continue;
    is_known = true;
    print(safe_word(part.address) + ": " + safe_word(*value) + "\n");
  }
  return is_known ? 0 : errand.no("there is no " + key + " in the statistics");
}

void print_json(const std::vector<Part>& parts, const StatsText& sum) {
  std::string text = "{\"sum\":{" + sum.json_members() + "},\"servers\":[";
  for (const Part& part : parts) {
    if (&part != &parts.front()) text += ",";
    text += "\n{\"address\":" + json_string(part.address) + "," + part.stats.json_members() + "}";
  }
  print(text + "\n]}\n");
}

int stats_of_several(Errand& errand, const Subject& subject, const std::string& key) {
  if (subject.is_job) return errand.mistake("ids of jobs are different at each server");
  int status = 0;
  std::vector<Part> parts;
  std::vector<StatsText> found;
  for (Remote& server : errand.servers()) {
    std::optional<StatsText> stats = ask(errand, server, subject, status);
    if (!stats) continue;
    found.push_back(*stats);
    parts.push_back({server.address().name(), std::move(*stats)});
  }
  if (parts.empty()) return status != 0 ? status : errand.no("there is no " + subject.name);
  const StatsText sum = sum_of(found);
  if (!key.empty()) {
    const int of_key = print_values(errand, parts, sum, key);
    return errand.done(status != 0 ? status : of_key);
  }
  if (errand.json()) {
    print_json(parts, sum);
    return errand.done(status);
  }
  print("sum of " + std::to_string(parts.size()) + " servers:\n");
  print_all(errand, sum);
  for (const Part& part : parts) {
    print("\n" + safe_word(part.address) + ":\n");
    print_all(errand, part.stats);
  }
  return errand.done(status);
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

  errand.allow_several();
  if (const std::optional<int> over = errand.find()) return *over;
  if (errand.servers().size() > 1) return stats_of_several(errand, subject, key);
  if (!errand.server().open()) return errand.failed();
  bool is_there = false;
  std::optional<StatsText> found = errand.server().ask_stats(subject.command, is_there);
  if (!found) return errand.failed();
  if (subject.name.empty()) add_server(*found);
  if (!is_there) return errand.no("there is no " + subject.name);
  if (!key.empty()) return print_value(errand, *found, key);
  print_all(errand, *found);
  return errand.done();
}

}  // namespace haricot::tool
