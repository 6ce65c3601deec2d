// The screen of one tube.

#include <algorithm>
#include <array>
#include <span>

#include "haricot/base/check.hpp"
#include "tool/cli/output.hpp"
#include "tool/top/screen_text.hpp"
#include "tool/top/screens.hpp"

namespace haricot::tool {
namespace {

constexpr std::size_t kChartRowsMin = 4;
constexpr std::size_t kChartRowsMax = 12;
constexpr std::size_t kLinesAbove = 6;  // Name, states, rates, clients, status, and titles of jobs.

using Pieces = std::vector<ScreenLine::Piece>;

const TubeStats* find_tube(const TopState& state, const std::string& name) {
  const auto found = std::find_if(state.sample.tubes.begin(), state.sample.tubes.end(),
                                  [&name](const TubeStats& tube) { return tube.name == name; });
  return found == state.sample.tubes.end() ? nullptr : &*found;
}

Pieces states(const TubeStats& tube, const std::vector<Mark>& marks) {
  const auto tone_of = [&marks](Mark first, Mark second) {
    for (const Mark mark : marks) {
      if (mark == first || mark == second) return row_of(mark).tone;
    }
    return Tone::plain;
  };
  return {
      {"jobs: " + grouped(tube.ready) + " ready", tone_of(Mark::no_worker, Mark::growing)},
      {grouped(tube.buried) + " buried", tone_of(Mark::buried, Mark::buried)},
      {grouped(tube.reserved) + " reserved"},
      {grouped(tube.delayed) + " delayed"},
      {grouped(tube.urgent) + " urgent"},
  };
}

Pieces rates(const TubeStats& tube) {
  // One piece, because its second half makes no sense without the first.
  std::string all = "in all " + grouped(tube.puts) + " put";
  if (tube.deletes) all += ", " + grouped(*tube.deletes) + " deleted";
  return {{"a second: " + grouped_rate(tube.put_rate) + " put"},
          {grouped_rate(tube.delete_rate) + " delete"},
          {all}};
}

Pieces clients(const TubeStats& tube) {
  const std::optional<StatsText> report = StatsText::parse(tube.report);
  const auto count = [&report](std::string_view key) {
    const std::optional<std::uint64_t> number = report ? report->number(key) : std::nullopt;
    return number ? grouped(*number) : "-";
  };
  Pieces pieces = {{"clients: " + count("current-watching") + " watch it"},
                   {grouped(tube.waiting) + " wait for a job"},
                   {count("current-using") + " put into it"}};
  if (tube.paused_s > 0) {
    pieces.insert(pieces.begin() + 1, {"paused for " + format_span(tube.paused_s), Tone::warning});
  }
  return pieces;
}

ScreenLine title(const TopState& state, const std::string& name, const std::vector<Mark>& marks,
                 std::size_t columns) {
  constexpr std::string_view kBegin = "haricot top: tube ";
  const std::size_t room = columns > kBegin.size() ? columns - kBegin.size() : columns;
  Pieces pieces = {{std::string(kBegin) + shortened(safe_word(name), room)}};
  for (const Mark mark : marks) {
    pieces.push_back({std::string(row_of(mark).word), row_of(mark).tone});
  }
  pieces.push_back({"of " + safe_word(state.address)});
  return line_of(pieces, columns);
}

// Keys of a job, from left to right. On a narrow screen those on the right are left out.
struct JobColumn {
  std::string_view key;
  std::string_view title;
  std::size_t columns;  // With the blank before it.
  bool is_time;
};

constexpr std::array<JobColumn, 10> kJobColumns = {{
    {"id", "id", 12, false},
    {"pri", "priority", 11, false},
    {"age", "age", 7, true},
    {"time-left", "left", 7, true},
    {"bytes", "bytes", 8, false},
    {"reserves", "reserves", 9, false},
    {"timeouts", "timeouts", 9, false},
    {"releases", "releases", 9, false},
    {"buries", "buries", 7, false},
    {"ttr", "ttr", 7, true},
}};
constexpr std::size_t kStateColumns = 7;

// Ids and priorities are not abbreviated, because users may type them.
std::string job_cell(const StatsText& job, const JobColumn& column) {
  const std::optional<std::uint64_t> number = job.number(column.key);
  if (!number) return "-";
  if (column.is_time) return format_span(*number);
  return column.key == "id" || column.key == "pri" ? std::to_string(*number) : grouped(*number);
}

template <typename Cell>
std::string job_line(std::string_view state, std::size_t columns, const Cell& cell) {
  std::string line(state);
  line.resize(std::max(line.size(), kStateColumns), ' ');
  for (const JobColumn& column : kJobColumns) {
    if (line.size() + column.columns > columns) break;
    const std::string text = cell(column);
    line.append(column.columns - std::min(column.columns - 1, text.size()), ' ');
    line += text;
  }
  return line;
}

// Returns the numbers of jobs of each state that fit, distributed in turns.
std::array<std::size_t, kSeenStates.size()> shares(const NextJobs& jobs, std::size_t rows) {
  std::array<std::size_t, kSeenStates.size()> counts{};
  for (bool has_more = true; has_more && rows > 0;) {
    has_more = false;
    for (std::size_t i = 0; i < counts.size() && rows > 0; ++i) {
      if (counts[i] >= jobs.jobs[i].size()) continue;
      ++counts[i];
      --rows;
      has_more = true;
    }
  }
  return counts;
}

void add_jobs(const TopState& state, const std::string& name, std::size_t rows, std::size_t columns,
              std::vector<ScreenLine>& lines) {
  const NextJobs& next = state.jobs;
  std::string header =
      job_line("next", columns, [](const JobColumn& column) { return std::string(column.title); });
  ScreenLine title_line(header, Tone::title);
  title_line.fit(columns);
  lines.push_back(title_line);
  if (next.tube != name) {
    lines.emplace_back("the server has not answered yet");
    return;
  }
  const auto counts = shares(next, rows);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    for (std::size_t k = 0; k < counts[i]; ++k) {
      const StatsText& job = next.jobs[i][k];
      lines.emplace_back(job_line(kSeenStates[i], columns, [&job](const JobColumn& column) {
        return job_cell(job, column);
      }));
    }
  }
  const bool is_empty =
      std::all_of(counts.begin(), counts.end(), [](std::size_t n) { return n == 0; });
  if (is_empty && rows > 0) lines.emplace_back("no ready, delayed or buried job");
}

// Returns the time that the chart covers: "the last minute", "the last 7 minutes".
std::string span_text(Duration span) {
  constexpr std::int64_t kMinute = 60'000'000'000;
  const std::int64_t minutes = span.count() / kMinute + 1;
  return minutes == 1 ? "the last minute" : "the last " + std::to_string(minutes) + " minutes";
}

void add_chart(const TopState& state, const std::string& name, std::size_t rows,
               std::size_t columns, const ScreenStyle& style, std::vector<ScreenLine>& lines) {
  std::span<const std::uint32_t> numbers = state.history.ready(name);
  numbers = numbers.last(std::min(numbers.size(), chart_points(columns, style.utf8)));
  if (numbers.empty()) {
    lines.emplace_back("ready: none since top was started");
    return;
  }
  const auto [lowest, highest] = std::minmax_element(numbers.begin(), numbers.end());
  lines.push_back(line_of({{"ready in " + span_text(state.history.span_of(numbers.size()))},
                           {"highest " + grouped(*highest)},
                           {"lowest " + grouped(*lowest)},
                           {"one dot per sample"}},
                          columns));
  for (const std::string& line : draw_chart(numbers, columns, rows, style.utf8)) {
    lines.emplace_back(line);
  }
}

// Returns the number of rows for the chart and its title; 0 if there is no room.
std::size_t chart_rows(std::size_t rows) {
  const std::size_t below = rows > kLinesAbove ? rows - kLinesAbove : 0;
  if (below < 2 * kChartRowsMin) return 0;
  return std::clamp(below / 2, kChartRowsMin, kChartRowsMax);
}

}  // namespace

std::size_t jobs_wanted(const ScreenSize& size) {
  constexpr std::size_t kMax = 1000;  // Largest number that the server lists at once.
  const std::size_t taken = kLinesAbove + chart_rows(size.rows);
  return std::clamp<std::size_t>(size.rows - std::min(size.rows, taken), 1, kMax);
}

std::vector<ScreenLine> draw_tube(const TopState& state, const std::string& tube,
                                  const ScreenLine& status, const ScreenSize& size,
                                  const ScreenStyle& style) {
  const std::size_t columns = size.columns;
  const TubeStats* stats = find_tube(state, tube);
  std::vector<ScreenLine> lines;
  if (stats == nullptr) {
    lines.push_back(title(state, tube, {}, columns));
    lines.emplace_back("the tube no longer exists");
    lines.push_back(status);
  } else {
    const std::vector<Mark> marks = marks_of(*stats, state.history);
    lines.push_back(title(state, tube, marks, columns));
    lines.push_back(line_of(states(*stats, marks), columns));
    lines.push_back(line_of(rates(*stats), columns));
    lines.push_back(line_of(clients(*stats), columns));
    lines.push_back(status);
    const std::size_t chart = chart_rows(size.rows);
    add_jobs(state, tube, jobs_wanted(size), columns, lines);
    if (chart > 0) {
      lines.resize(std::max(lines.size(), size.rows - chart));
      add_chart(state, tube, chart - 1, columns, style, lines);
    }
  }
  if (lines.size() > size.rows) lines.resize(size.rows);
  return lines;
}

namespace {

// Bits of the dots of a braille character from the bottom up: left column, right column.
constexpr std::array<std::array<unsigned, 4>, 2> kDots = {
    {{0x40, 0x04, 0x02, 0x01}, {0x80, 0x20, 0x10, 0x08}}};
constexpr std::uint64_t kDotSteps = 4;
constexpr std::uint64_t kPlainSteps = 2;

// Returns a character of the block U+2800, whose low byte has a bit for each dot.
std::string braille(unsigned dots) {
  return {'\xe2', static_cast<char>(0xa0 | (dots >> 6)), static_cast<char>(0x80 | (dots & 0x3f))};
}

// Returns the number of steps of a row that a bar of this height fills. `row` counts from the
// bottom.
std::uint64_t filled(std::uint64_t height, std::size_t row, std::uint64_t steps) {
  const std::uint64_t below = row * steps;
  return height <= below ? 0 : std::min(height - below, steps);
}

}  // namespace

std::size_t chart_points(std::size_t columns, bool utf8) {
  return utf8 ? 2 * columns : columns;
}

std::vector<std::string> draw_chart(std::span<const std::uint32_t> numbers, std::size_t columns,
                                    std::size_t rows, bool utf8) {
  const std::size_t points = chart_points(columns, utf8);
  const std::uint64_t steps = utf8 ? kDotSteps : kPlainSteps;
  numbers = numbers.last(std::min(numbers.size(), points));
  std::uint64_t highest = 1;
  for (const std::uint32_t number : numbers) highest = std::max<std::uint64_t>(highest, number);
  std::vector<std::uint64_t> heights(points - numbers.size(), 0);
  for (const std::uint32_t number : numbers) {
    heights.push_back((number * steps * rows + highest - 1) / highest);  // Rounded up.
  }
  CHECK(heights.size() == points);
  std::vector<std::string> lines(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t row = rows - 1 - i;
    for (std::size_t column = 0; column < columns; ++column) {
      if (!utf8) {
        const std::uint64_t fill = filled(heights[column], row, steps);
        lines[i] += fill == 0 ? ' ' : fill == 1 ? '.' : '|';
        continue;
      }
      unsigned dots = 0;
      for (std::size_t side = 0; side < 2; ++side) {
        const std::uint64_t fill = filled(heights[2 * column + side], row, steps);
        for (std::uint64_t dot = 0; dot < fill; ++dot) dots |= kDots[side][dot];
      }
      lines[i] += dots == 0 ? " " : braille(dots);
    }
  }
  return lines;
}

}  // namespace haricot::tool
