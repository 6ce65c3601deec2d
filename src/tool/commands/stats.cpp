// haricot stats: prints the statistics of a server, a tube or a job.

#include <string>
#include <utility>
#include <vector>

#include "haricot/base/encoding.hpp"
#include "haricot/base/number.hpp"
#include "tool/cli/command_line.hpp"
#include "tool/cli/output.hpp"
#include "tool/client/errand.hpp"
#include "tool/client/sample.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "stats", "[OPTIONS] [TUBE|JOB]",
    "Prints the statistics of the server, of a tube, or of a job. An operand of digits is the id\n"
    "of a job, any other the name of a tube; for a tube with such a name use --tube. The last\n"
    "key of the server is server: haricotd or beanstalkd. --key may omit the prefix\n"
    "current-jobs- or current-; for a tube that does not exist it prints 0. With haricotd, --key\n"
    "oldest is the age of the job that has been ready longest, and --key also knows the keys of\n"
    "stats-tube-detail, such as queue-time-p99. --json prints the sum of all servers as \"sum\"\n"
    "and each server in \"servers\", even for one server; for a job it prints one object.\n",
    "    haricot stats\n"
    "    haricot stats mail --key ready\n"
    "    haricot stats mail --key oldest                     # in seconds\n"
    "    haricot -a queue1,queue2 stats --key ready\n"};

// A key that the tool adds.
constexpr std::string_view kServerKey = "server";

constexpr std::string_view kDetailCommand = "stats-tube-detail";

// The command that asks for the subject, and its name for messages.
struct Subject {
  std::string command = "stats";
  std::string name;
  bool is_job = false;
  std::string tube;  // Empty if it is no tube.
};

Subject tube_subject(const std::string& tube) {
  return {"stats-tube " + tube, "tube " + tube, false, tube};
}

Subject job_subject(std::uint64_t id) {
  return {"stats-job " + std::to_string(id), "job " + std::to_string(id), true, {}};
}

// Returns the keys that `key` may abbreviate, in the order of preference.
std::vector<std::string> whole_keys(const std::string& key) {
  if (key == "oldest") return {"age-oldest-ready"};
  return {key, "current-jobs-" + key, "current-" + key};
}

const StatsText::Line* find_key(const StatsText& stats, const std::string& key) {
  for (const std::string& whole : whole_keys(key)) {
    if (const StatsText::Line* line = stats.find_line(whole)) return line;
  }
  return nullptr;
}

// Asks for the statistics of a tube, with those of stats-tube-detail if only these have the key.
// Returns false if the server failed.
bool ask_tube(Remote& server, const std::string& tube, const std::string& key, StatsText& stats,
              bool& is_there) {
  std::optional<StatsText> found = server.ask_stats("stats-tube " + tube, is_there);
  if (!found) return false;
  stats = std::move(*found);
  if (key.empty() || !is_there || find_key(stats, key) != nullptr) return true;
  // If the server lacks the command, or the tube was deleted meanwhile, there is no such key.
  const auto detail = server.ask(std::string(kDetailCommand) + " " + tube);
  if (!detail) return false;
  std::optional<StatsText> more;
  if (detail->code == ReplyCode::ok) more = StatsText::parse(detail->body);
  if (!more) return true;
  for (const StatsText::Line& line : more->lines()) {
    if (stats.find_line(line.key) == nullptr) stats.add(line);
  }
  return true;
}

// Sets the key of a tube that does not exist to 0, if tubes have this number. The tube default,
// which always exists, has all keys. Returns false if the server failed.
bool ask_empty_tube(Remote& server, const std::string& key, StatsText& stats) {
  StatsText usual;
  bool is_there = false;
  if (!ask_tube(server, "default", key, usual, is_there)) return false;
  const StatsText::Line* line = find_key(usual, key);
  if (line == nullptr) {
    stats = std::move(usual);  // Keeps the existing keys, for a suggestion.
  } else if (usual.number(line->key)) {
    stats.add({line->key, "0"});
  }
  return true;
}

void print_all(const StatsText& stats) {
  for (const StatsText::Line& line : stats.lines()) {
    print(safe_word(line.key) + ": " + safe_word(line.value) + "\n");
  }
}

struct Part {
  std::string address;
  StatsText stats;
};

// Asks for the subject's statistics, with those of stats-tube-detail if only these have the key.
// Returns nothing if the server failed, and no lines if the subject does not exist.
std::optional<StatsText> ask(Remote& server, const Subject& subject, const std::string& key) {
  bool is_there = false;
  StatsText stats;
  if (!server.open()) return std::nullopt;
  if (subject.tube.empty()) {
    std::optional<StatsText> found = server.ask_stats(subject.command, is_there);
    if (found && subject.name.empty()) {
      found->add({std::string(kServerKey), std::string(server_kind(*found))});
    }
    return found;
  }
  if (!ask_tube(server, subject.tube, key, stats, is_there)) return std::nullopt;
  if (!is_there && !key.empty() && !ask_empty_tube(server, key, stats)) return std::nullopt;
  return stats;
}

// Asks all servers. Leaves out a server that fails, after printing a message and setting `status`.
std::vector<Part> ask_all(Errand& errand, const Subject& subject, const std::string& key,
                          int& status) {
  std::vector<Part> parts;
  for (Remote& server : errand.servers()) {
    std::optional<StatsText> found = ask(server, subject, key);
    if (!found) status = errand.failed(server);
    if (!found || found->lines().empty()) continue;
    parts.push_back({server.address().name(), std::move(*found)});
  }
  return parts;
}

// Keeps only the key, which may be abbreviated. Returns false if there is no such key.
bool choose(std::vector<Part>& parts, const std::string& key) {
  std::vector<Part> chosen;
  for (const Part& part : parts) {
    const StatsText::Line* line = find_key(part.stats, key);
    if (line == nullptr) continue;
    chosen.push_back({part.address, {}});
    chosen.back().stats.add(*line);
  }
  if (chosen.empty()) return false;
  parts = std::move(chosen);
  return true;
}

int no_key(const Errand& errand, const StatsText& stats, const std::string& key) {
  std::vector<std::string_view> keys;
  for (const StatsText::Line& line : stats.lines()) keys.push_back(line.key);
  return errand.no("there is no " + key + " in the statistics" + suggestion(key, keys));
}

// Prints the sum, or the value of each part. Requires: each part has exactly one key.
void print_values(const std::vector<Part>& parts, const StatsText& sum) {
  const bool is_one = parts.size() == 1;
  if (!is_one && !sum.lines().empty()) {
    print(sum.lines().front().value + "\n");
    return;
  }
  for (const Part& part : parts) {
    if (!is_one) print(safe_word(part.address) + ": ");
    print(safe_word(part.stats.lines().front().value) + "\n");
  }
}

void print_json(const std::vector<Part>& parts, const StatsText& sum) {
  std::string text = "{\"sum\":{" + sum.json_members() + "},\"servers\":[";
  for (const Part& part : parts) {
    if (&part != &parts.front()) text += ",";
    text += "\n{\"address\":" + json_string(part.address) + "," + part.stats.json_members() + "}";
  }
  print(text + "\n]}\n");
}

void print_tables(const std::vector<Part>& parts, const StatsText& sum) {
  print("sum of " + std::to_string(parts.size()) + " servers:\n");
  print_all(sum);
  for (const Part& part : parts) {
    print("\n" + safe_word(part.address) + ":\n");
    print_all(part.stats);
  }
}

int run(Errand& errand, const Subject& subject, const std::string& key) {
  const bool is_one = errand.servers().size() == 1;
  if (subject.is_job && !is_one) return errand.mistake("a job id belongs to one server");
  int status = 0;
  std::vector<Part> parts = ask_all(errand, subject, key, status);
  if (parts.empty()) return status != 0 ? status : errand.no("there is no " + subject.name);
  if (!key.empty() && !choose(parts, key)) return no_key(errand, parts.front().stats, key);
  std::vector<StatsText> all;
  all.reserve(parts.size());
  for (const Part& part : parts) all.push_back(part.stats);
  const StatsText sum = sum_of(all);
  if (errand.json() && subject.is_job) {
    print("{" + parts.front().stats.json_members() + "}\n");
  } else if (errand.json()) {
    print_json(parts, sum);
  } else if (!key.empty()) {
    print_values(parts, sum);
  } else if (is_one) {
    print_all(parts.front().stats);
  } else {
    print_tables(parts, sum);
  }
  return errand.done(status);
}

}  // namespace

int stats(Words words) {
  Errand errand(kText);
  Subjects subjects(errand);
  std::optional<std::uint64_t> job;
  std::string key;
  subjects.add_tube_flag();
  errand.add({'i', "job", "ID", "job, same as the operand",
              [&job](std::string_view value) {
                job = read_number(value);
                return job.has_value();
              },
              "a job id"});
  errand.add({'k', "key", "KEY", "print only the value of this key", set(key), "a key"});
  if (const std::optional<int> over = errand.read(words)) return *over;
  if (const std::optional<int> over = subjects.take(1, Subjects::Ids::yes)) return *over;
  std::vector<std::uint64_t> ids = subjects.ids();
  if (job) ids.push_back(*job);
  if (subjects.tubes().size() + ids.size() > 1) return errand.mistake("more than one tube or job");
  Subject subject;
  if (!subjects.tubes().empty()) subject = tube_subject(subjects.tube());
  if (!ids.empty()) subject = job_subject(ids.front());

  errand.allow_several();
  if (const std::optional<int> over = errand.find()) return *over;
  return run(errand, subject, key);
}

}  // namespace haricot::tool
