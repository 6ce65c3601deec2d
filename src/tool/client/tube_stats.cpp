#include "tool/client/tube_stats.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "tool/cli/output.hpp"
#include "tool/client/list_page.hpp"
#include "tool/client/stats_text.hpp"

namespace haricot::tool {
namespace {

// A column of the table. A column of numbers has its member of TubeStats; a column of times has one
// or two members of TubeTimes: a time, or the median and the 99th percentile. The column of names
// has none.
struct ColumnRow {
  TubeColumn column;
  std::string_view title;
  std::size_t width;  // Minimum, so that columns seldom move.
  std::uint64_t TubeStats::*count = nullptr;
  std::optional<double> TubeStats::*rate = nullptr;
  std::uint64_t TubeTimes::*time = nullptr;
  std::uint64_t TubeTimes::*time_p99 = nullptr;
};

constexpr std::array<ColumnRow, kAllTubeColumns> kColumns = {{
    {TubeColumn::ready, "ready", 6, &TubeStats::ready},
    {TubeColumn::urgent, "urgent", 6, &TubeStats::urgent},
    {TubeColumn::reserved, "reserved", 8, &TubeStats::reserved},
    {TubeColumn::delayed, "delayed", 7, &TubeStats::delayed},
    {TubeColumn::buried, "buried", 6, &TubeStats::buried},
    {TubeColumn::waiting, "waiting", 7, &TubeStats::waiting},
    {TubeColumn::put_rate, "put/s", 6, nullptr, &TubeStats::put_rate},
    {TubeColumn::delete_rate, "delete/s", 8, nullptr, &TubeStats::delete_rate},
    {TubeColumn::paused, "paused", 6, &TubeStats::paused_s},
    {TubeColumn::name, "tube", 0},
    {TubeColumn::oldest, "oldest", 6, nullptr, nullptr, &TubeTimes::oldest_ready_s},
    {TubeColumn::wait, "wait", 4, nullptr, nullptr, &TubeTimes::wait_p50_ms,
     &TubeTimes::wait_p99_ms},
    {TubeColumn::work, "work", 4, nullptr, nullptr, &TubeTimes::work_p50_ms,
     &TubeTimes::work_p99_ms},
}};

const ColumnRow& row_of(TubeColumn column) {
  return kColumns[static_cast<std::size_t>(column)];
}

// Ranks unknown rates below all known ones.
double rank(std::optional<double> rate) {
  return rate.value_or(-1);
}

std::string time_cell(const TubeStats& tube, const ColumnRow& row) {
  if (!tube.times) return "-";
  const std::uint64_t first = *tube.times.*row.time;
  if (row.time_p99 == nullptr) return first == 0 ? "-" : format_milliseconds(first * 1000);
  const std::uint64_t p99 = *tube.times.*row.time_p99;
  return p99 == 0 ? "-" : format_milliseconds(first) + "/" + format_milliseconds(p99);
}

// Returns nothing for unknown times, which ranks below all known ones.
std::optional<std::pair<std::uint64_t, std::uint64_t>> times_of(const TubeStats& tube,
                                                                const ColumnRow& row) {
  if (!tube.times) return std::nullopt;
  const TubeTimes& times = *tube.times;
  return std::pair(times.*row.time, row.time_p99 == nullptr ? 0 : times.*row.time_p99);
}

std::string cell(const TubeStats& tube, const ColumnRow& row) {
  if (row.time != nullptr) return time_cell(tube, row);
  if (row.column == TubeColumn::paused) {
    return tube.paused_s == 0 ? "-" : std::to_string(tube.paused_s) + "s";
  }
  if (row.count != nullptr) return std::to_string(tube.*row.count);
  if (row.rate != nullptr) return format_rate(tube.*row.rate);
  return safe_word(tube.name);
}

bool is_before(const TubeStats& a, const TubeStats& b, const ColumnRow& row) {
  if (row.count != nullptr) return a.*row.count > b.*row.count;
  if (row.time != nullptr) return times_of(a, row) > times_of(b, row);
  return row.rate != nullptr && rank(a.*row.rate) > rank(b.*row.rate);
}

std::optional<double> rate_of(std::uint64_t before, std::uint64_t now, double seconds) {
  if (now < before || seconds <= 0) return std::nullopt;
  return static_cast<double>(now - before) / seconds;
}

}  // namespace

std::optional<TubeStats> tube_stats(std::string name, std::string report) {
  const std::optional<StatsText> all = StatsText::parse(report);
  if (!all) return std::nullopt;
  const auto number = [&all](std::string_view key) { return all->number(key).value_or(0); };
  TubeStats tube;
  tube.name = std::move(name);
  tube.ready = number("current-jobs-ready");
  tube.urgent = number("current-jobs-urgent");
  tube.reserved = number("current-jobs-reserved");
  tube.delayed = number("current-jobs-delayed");
  tube.buried = number("current-jobs-buried");
  tube.waiting = number("current-waiting");
  tube.watching = all->number("current-watching");
  tube.puts = number("total-jobs");
  tube.deletes = all->number("cmd-delete");
  // Near its end a pause has 0 seconds left, so show 1 while it lasts.
  if (number("pause") > 0) tube.paused_s = std::max<std::uint64_t>(number("pause-time-left"), 1);
  tube.report = std::move(report);
  return tube;
}

bool add_times(TubeStats& tube, std::string_view detail) {
  const std::optional<StatsText> all = StatsText::parse(detail);
  if (!all) return false;
  const auto number = [&all](std::string_view key) { return all->number(key).value_or(0); };
  tube.times = TubeTimes{.oldest_ready_s = number("age-oldest-ready"),
                         .wait_p50_ms = number("queue-time-p50"),
                         .wait_p99_ms = number("queue-time-p99"),
                         .work_p50_ms = number("work-time-p50"),
                         .work_p99_ms = number("work-time-p99")};
  tube.report += detail.substr(detail.find('\n') + 1);
  return true;
}

void set_rates(TubeStats& now, const TubeStats& before, double seconds) {
  now.put_rate = rate_of(before.puts, now.puts, seconds);
  now.delete_rate.reset();
  if (now.deletes) now.delete_rate = rate_of(before.deletes.value_or(0), *now.deletes, seconds);
}

std::string_view title_of(TubeColumn column) {
  return row_of(column).title;
}

std::string titles_in_words(std::size_t columns) {
  std::string text(kColumns[0].title);
  for (std::size_t i = 1; i < columns; ++i) {
    text += i + 1 < columns ? ", " : " or ";
    text += kColumns[i].title;
  }
  return text;
}

std::optional<TubeColumn> column_called(std::string_view title, std::size_t columns) {
  for (const ColumnRow& row : std::span(kColumns).first(columns)) {
    if (row.title == title) return row.column;
  }
  return std::nullopt;
}

void sort_tubes(std::vector<TubeStats>& tubes, TubeColumn column, bool reversed) {
  const ColumnRow& row = row_of(column);
  std::sort(tubes.begin(), tubes.end(), [&row, reversed](const TubeStats& a, const TubeStats& b) {
    const TubeStats& first = reversed ? b : a;
    const TubeStats& second = reversed ? a : b;
    if (is_before(first, second, row)) return true;
    if (is_before(second, first, row)) return false;
    return first.name < second.name;
  });
}

TubeTable tube_table(const std::vector<TubeStats>& tubes) {
  // The cells of each line except the name; the first line has the titles.
  std::vector<std::vector<std::string>> lines(tubes.size() + 1);
  const bool has_times = std::any_of(tubes.begin(), tubes.end(),
                                     [](const TubeStats& tube) { return tube.times.has_value(); });
  std::vector<std::size_t> widths;
  for (const ColumnRow& row : kColumns) {
    if (row.column == TubeColumn::name || (row.time != nullptr && !has_times)) continue;
    widths.push_back(row.width);
    lines[0].emplace_back(row.title);
    for (std::size_t i = 0; i < tubes.size(); ++i) lines[i + 1].push_back(cell(tubes[i], row));
  }
  for (const std::vector<std::string>& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  TubeTable table;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string text;
    for (std::size_t k = 0; k < widths.size(); ++k) append_cell(text, lines[i][k], widths[k]);
    text += ' ';
    text += i == 0 ? std::string(title_of(TubeColumn::name)) : safe_word(tubes[i - 1].name);
    if (i == 0) {
      table.header = std::move(text);
    } else {
      table.rows.push_back(std::move(text));
    }
  }
  return table;
}

std::string format_milliseconds(std::uint64_t milliseconds) {
  constexpr std::uint64_t kSecond = 1000;
  constexpr std::uint64_t kMinute = 60 * kSecond;
  constexpr std::uint64_t kHour = 60 * kMinute;
  if (milliseconds < kSecond) return std::to_string(milliseconds) + "ms";
  const std::uint64_t tenths = milliseconds / 100;
  if (milliseconds < 10 * kSecond && tenths % 10 != 0) {
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + "s";
  }
  if (milliseconds < 10 * kMinute) return std::to_string(milliseconds / kSecond) + "s";
  if (milliseconds < 10 * kHour) return std::to_string(milliseconds / kMinute) + "m";
  if (milliseconds < 100 * kHour) return std::to_string(milliseconds / kHour) + "h";
  return std::to_string(milliseconds / (24 * kHour)) + "d";
}

std::string to_json(const TubeStats& tube) {
  const std::optional<StatsText> all = StatsText::parse(tube.report);
  return "{" + (all ? all->json_members() + "," : "") + "\"put-rate\":" + json_rate(tube.put_rate) +
         ",\"delete-rate\":" + json_rate(tube.delete_rate) + "}";
}

std::string format_rate(std::optional<double> rate) {
  if (!rate) return "-";
  char text[40];
  // A rate of 9.96 would be shown as 10.0.
  const bool is_small = *rate > 0 && *rate < 9.95;
  std::snprintf(text, sizeof text, is_small ? "%.1f" : "%.0f", *rate);
  return text;
}

std::string json_rate(std::optional<double> rate) {
  if (!rate) return "null";
  char text[40];
  std::snprintf(text, sizeof text, "%.3f", *rate);
  return text;
}

bool is_growing(std::span<const std::uint32_t> ready) {
  constexpr std::size_t kCountsMin = 4;
  if (ready.size() < kCountsMin) return false;
  const std::span<const std::uint32_t> newer = ready.last(ready.size() / 2);
  const std::span<const std::uint32_t> older = ready.first(ready.size() - newer.size());
  return *std::min_element(newer.begin(), newer.end()) >
         *std::max_element(older.begin(), older.end());
}

}  // namespace haricot::tool
