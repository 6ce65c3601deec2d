// haricot tubes: a table of them.

#include <poll.h>

#include <string>
#include <vector>

#include "os/clock.hpp"
#include "tool/client/errand.hpp"
#include "tool/client/sample.hpp"
#include "tool/client/tube_stats.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "tubes", "[OPTIONS] [PATTERN...]",
    "Prints a table of all tubes, or of those that match one of the shell patterns. The\n"
    "columns put/s and delete/s are jobs a second, measured while the command runs. -i 0\n"
    "leaves them out and prints the table at once.\n"};

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

void print_json(const std::vector<TubeStats>& tubes) {
  std::string text = "[";
  for (const TubeStats& tube : tubes) text += (text.size() > 1 ? ",\n" : "\n") + to_json(tube);
  print(text + "\n]\n");
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
  if (const std::optional<int> over = errand.connect()) return *over;

  Sample now;
  if (!take_sample(errand.server(), patterns, now)) return errand.failed();
  if (interval_ms > 0) {
    const Sample before = now;
    sleep_for(Duration::milliseconds(static_cast<std::int64_t>(interval_ms)));
    if (!take_sample(errand.server(), patterns, now)) return errand.failed();
    set_tube_rates(before, now);
  }
  if (now.tubes.empty() && !patterns.empty()) return errand.no("there is no such tube");
  sort_tubes(now.tubes, sort, reversed);
  if (errand.json()) {
    print_json(now.tubes);
  } else {
    print_table(now.tubes);
  }
  return errand.done();
}

}  // namespace haricot::tool
