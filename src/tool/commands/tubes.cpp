// haricot tubes: prints a table of the tubes.

#include <poll.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "haricot/base/encoding.hpp"
#include "os/clock.hpp"
#include "tool/cli/output.hpp"
#include "tool/client/errand.hpp"
#include "tool/client/sample.hpp"
#include "tool/client/tube_stats.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "tubes", "[OPTIONS] [PATTERN...]",
    "Prints a table of all tubes, or of those that match one of the shell patterns. The columns\n"
    "put/s and delete/s are jobs per second, measured while the command runs. -i 0 omits them\n"
    "and prints the table at once. --names prints only the names, one on each line. With\n"
    "haricotd there are three more columns: oldest is the age of the job that has been ready\n"
    "longest; wait (from ready to reserve) and work (from reserve to delete) have the median and\n"
    "the 99th percentile of the last minutes.\n",
    "    haricot tubes --sort buried\n"
    "    haricot tubes 'mail*'\n"
    "    haricot -a queue1,queue2 tubes                      # the sum, then each server\n"};

void sleep_for(Duration time) {
  const Instant end = os::read_clock() + time;
  for (int left = 0; (left = os::timeout_ms(os::read_clock(), end)) > 0;) ::poll(nullptr, 0, left);
}

void print_table(const std::vector<TubeStats>& tubes) {
  const TubeTable table = tube_table(tubes);
  std::string text = table.header + "\n";
  for (const std::string& row : table.rows) text += row + "\n";
  print(text);
}

std::string json_array(const std::vector<TubeStats>& tubes) {
  std::string text = "[";
  for (const TubeStats& tube : tubes) text += (text.size() > 1 ? ",\n" : "\n") + to_json(tube);
  return text + "\n]";
}

// A server and its samples.
struct Part {
  Remote* server;
  Sample before;
  Sample now;
};

// Takes a sample of each server, or two if there is an interval. Leaves out a server that fails,
// after printing a message and setting `status`.
std::vector<Part> take_samples(Errand& errand, const std::vector<std::string>& patterns,
                               std::uint64_t interval_ms, int& status) {
  std::vector<Part> parts;
  for (Remote& server : errand.servers()) {
    Part part{&server, {}, {}};
    if (server.open() && take_sample(server, patterns, part.now) &&
        (interval_ms > 0 || take_times(server, part.now))) {
      parts.push_back(std::move(part));
    } else {
      status = errand.failed(server);
    }
  }
  if (interval_ms == 0 || parts.empty()) return parts;
  sleep_for(Duration::milliseconds(static_cast<std::int64_t>(interval_ms)));
  std::erase_if(parts, [&](Part& part) {
    part.before = std::move(part.now);
    const bool is_good =
        take_sample(*part.server, patterns, part.now) && take_times(*part.server, part.now);
    if (is_good) set_tube_rates(part.before, part.now);
    if (!is_good) status = errand.failed(*part.server);
    return !is_good;
  });
  return parts;
}

void print_tables(const std::vector<Part>& parts, const std::vector<TubeStats>& sums) {
  print("sum of " + std::to_string(parts.size()) + " servers:\n");
  print_table(sums);
  for (const Part& part : parts) {
    print("\n" + safe_word(part.server->address().name()) + ":\n");
    print_table(part.now.tubes);
  }
}

void print_json(const std::vector<Part>& parts, const std::vector<TubeStats>& sums) {
  std::string text = "{\"sum\":" + json_array(sums) + ",\"servers\":[";
  for (const Part& part : parts) {
    if (&part != &parts.front()) text += ",";
    text += "\n{\"address\":" + json_string(part.server->address().name()) +
            ",\"tubes\":" + json_array(part.now.tubes) + "}";
  }
  print(text + "\n]}\n");
}

// Prints the names of tubes that at least one server has, each once, from A to Z.
int print_names(Errand& errand, const std::vector<std::string>& patterns) {
  int status = 0;
  bool is_good = false;
  std::set<std::string> names;
  for (Remote& server : errand.servers()) {
    std::optional<std::vector<std::string>> some;
    if (server.open()) some = server.ask_list();
    if (!some) {
      status = errand.failed(server);
      continue;
    }
    is_good = true;
    for (std::string& name : *some) {
      if (is_wanted(name, patterns)) names.insert(std::move(name));
    }
  }
  if (!is_good) return status;
  if (names.empty()) return errand.no("there is no such tube");
  std::string text;
  for (const std::string& name : names) {
    if (errand.json()) text += text.empty() ? "[" : ",";
    text += errand.json() ? json_string(name) : safe_word(name) + "\n";
  }
  print(errand.json() ? text + "]\n" : text);
  return errand.done(status);
}

}  // namespace

int tubes(Words words) {
  constexpr std::uint64_t kIntervalMs = 1000;
  Errand errand(kText);
  TubeColumn sort = TubeColumn::name;
  bool reversed = false;
  bool only_names = false;
  const std::string titles = titles_in_words(kAllTubeColumns);
  std::uint64_t interval_ms = kIntervalMs;
  errand.add({'s', "sort", "COLUMN", "sort by the column with this title (tube)",
              [&sort](std::string_view value) {
                const auto column = column_called(value, kAllTubeColumns);
                sort = column.value_or(sort);
                return column.has_value();
              },
              titles});
  errand.add({'r', "reverse", "", "reverse the order", set(reversed)});
  errand.add({'i', "interval", "S", "measure the rates for S seconds (1)",
              set_milliseconds(interval_ms, 0), kTimeWanted});
  errand.add({0, "names", "", "print only the names", set(only_names)});
  std::vector<std::string> patterns;
  add_pattern_flag(errand, patterns);
  if (const std::optional<int> over = errand.read(words)) return *over;
  patterns.insert(patterns.end(), errand.operands().begin(), errand.operands().end());
  errand.allow_several();
  if (const std::optional<int> over = errand.find()) return *over;

  if (only_names) return print_names(errand, patterns);
  int status = 0;
  std::vector<Part> parts = take_samples(errand, patterns, interval_ms, status);
  if (parts.empty()) return status;
  std::size_t tubes = 0;
  bool has_times = false;
  for (Part& part : parts) {
    sort_tubes(part.now.tubes, sort, reversed);
    tubes += part.now.tubes.size();
    for (const TubeStats& tube : part.now.tubes) has_times = has_times || tube.times.has_value();
  }
  if (tubes == 0 && !patterns.empty()) return errand.no("there is no such tube");
  if (is_of_times(sort) && tubes > 0 && !has_times) {
    parts.front().server->refuse("stats-tube-detail", ReplyCode::unknown_command, {});
    return errand.failed(*parts.front().server);
  }
  if (errand.servers().size() == 1 && !errand.json()) {
    print_table(parts.front().now.tubes);
    return errand.done(status);
  }
  std::vector<Sample> samples;
  samples.reserve(parts.size());
  for (const Part& part : parts) samples.push_back(part.now);
  std::vector<TubeStats> sums = sum_of_tubes(samples);
  sort_tubes(sums, sort, reversed);
  errand.json() ? print_json(parts, sums) : print_tables(parts, sums);
  return errand.done(status);
}

}  // namespace haricot::tool
