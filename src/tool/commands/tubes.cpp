// haricot tubes: a table of them.

#include <poll.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "haricot/base/json.hpp"
#include "os/clock.hpp"
#include "tool/cli/safe_text.hpp"
#include "tool/client/errand.hpp"
#include "tool/client/sample.hpp"
#include "tool/client/sums.hpp"
#include "tool/client/tube_stats.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "tubes", "[OPTIONS] [PATTERN...]",
    "Prints a table of all tubes, or of those that match one of the shell patterns. The\n"
    "columns put/s and delete/s are jobs a second, measured while the command runs. -i 0\n"
    "leaves them out and prints the table at once.\n",
    "    haricot tubes --sort buried\n"
    "    haricot tubes 'mail*'\n"
    "    haricot -a queue1,queue2 tubes                      # the sum, and each\n"};

void sleep_for(Duration time) {
  const Instant end = os::read_clock() + time;
  while (true) {
    const Duration left = end - os::read_clock();
    if (left.count() <= 0) return;
    ::poll(nullptr, 0, static_cast<int>(left.count() / 1'000'000) + 1);
  }
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

// What a server has said.
struct Part {
  Remote* server;
  Sample before;
  Sample now;
};

// Asks all servers, twice if there is an interval. A server that fails is left out; then the
// message is printed, and `status` is the exit status.
std::vector<Part> take_samples(Errand& errand, const std::vector<std::string>& patterns,
                               std::uint64_t interval_ms, int& status) {
  std::vector<Part> parts;
  for (Remote& server : errand.servers()) {
    Part part{&server, {}, {}};
    if (server.open() && take_sample(server, patterns, part.now)) {
      parts.push_back(std::move(part));
    } else {
      status = errand.failed(server);
    }
  }
  if (interval_ms == 0 || parts.empty()) return parts;
  sleep_for(Duration::milliseconds(static_cast<std::int64_t>(interval_ms)));
  std::erase_if(parts, [&](Part& part) {
    part.before = std::move(part.now);
    const bool is_good = take_sample(*part.server, patterns, part.now);
    if (is_good) set_tube_rates(part.before, part.now);
    if (!is_good) status = errand.failed(*part.server);
    return !is_good;
  });
  return parts;
}

void print_one(const Errand& errand, const std::vector<TubeStats>& tubes) {
  if (errand.json()) {
    print(json_array(tubes) + "\n");
  } else {
    print_table(tubes);
  }
}

void print_several(const Errand& errand, const std::vector<Part>& parts,
                   const std::vector<TubeStats>& sums) {
  if (!errand.json()) {
    print("sum of " + std::to_string(parts.size()) + " servers:\n");
    print_table(sums);
    for (const Part& part : parts) {
      print("\n" + safe_word(part.server->address().name()) + ":\n");
      print_table(part.now.tubes);
    }
    return;
  }
  std::string text = "{\"sum\":" + json_array(sums) + ",\"servers\":[";
  for (const Part& part : parts) {
    if (&part != &parts.front()) text += ",";
    text += "\n{\"address\":" + json_string(part.server->address().name()) +
            ",\"tubes\":" + json_array(part.now.tubes) + "}";
  }
  print(text + "\n]}\n");
}

}  // namespace

int tubes(Words words) {
  constexpr std::uint64_t kIntervalMs = 1000;
  Errand errand(kText);
  TubeColumn sort = TubeColumn::name;
  bool reversed = false;
  std::uint64_t interval_ms = kIntervalMs;
  errand.add({'s', "sort", "COLUMN", "sort by the column with this title (tube)",
              [&sort](std::string_view value) {
                const std::optional<TubeColumn> column = column_called(value);
                sort = column.value_or(sort);
                return column.has_value();
              },
              "a column"});
  errand.add({'r', "reverse", "", "sort the other way round", set(reversed)});
  errand.add({'i', "interval", "S", "measure the rates for so many seconds (1)",
              set_milliseconds(interval_ms, 0), "a time in seconds"});
  if (const std::optional<int> over = errand.read(words)) return *over;
  const std::vector<std::string> patterns(errand.operands().begin(), errand.operands().end());
  errand.allow_several();
  if (const std::optional<int> over = errand.find()) return *over;

  int status = 0;
  std::vector<Part> parts = take_samples(errand, patterns, interval_ms, status);
  if (parts.empty()) return status;
  std::size_t tubes = 0;
  for (Part& part : parts) {
    sort_tubes(part.now.tubes, sort, reversed);
    tubes += part.now.tubes.size();
  }
  if (tubes == 0 && !patterns.empty()) return errand.no("there is no such tube");
  if (errand.servers().size() == 1) {
    print_one(errand, parts.front().now.tubes);
  } else {
    std::vector<Sample> samples;
    samples.reserve(parts.size());
    for (const Part& part : parts) samples.push_back(part.now);
    std::vector<TubeStats> sums = sum_of_tubes(samples);
    sort_tubes(sums, sort, reversed);
    print_several(errand, parts, sums);
  }
  return errand.done(status);
}

}  // namespace haricot::tool
