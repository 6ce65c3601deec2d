#include "tool/client/tube_stats.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "haricot/base/json.hpp"
#include "tool/cli/safe_text.hpp"
#include "tool/client/stats_text.hpp"

namespace haricot::tool {
namespace {

struct ColumnRow {
  TubeColumn column;
  std::string_view title;
  std::size_t width;  // At least: so that columns seldom move.
};

constexpr std::array<ColumnRow, kTubeColumns> kColumns = {{
    {TubeColumn::ready, "ready", 6},
    {TubeColumn::urgent, "urgent", 6},
    {TubeColumn::reserved, "reserved", 8},
    {TubeColumn::delayed, "delayed", 7},
    {TubeColumn::buried, "buried", 6},
    {TubeColumn::waiting, "waiting", 7},
    {TubeColumn::put_rate, "put/s", 6},
    {TubeColumn::delete_rate, "delete/s", 8},
    {TubeColumn::paused, "paused", 6},
    {TubeColumn::name, "tube", 0},
}};

// Below all that are known.
double rank(std::optional<double> rate) {
  return rate.value_or(-1);
}

std::string cell(const TubeStats& tube, TubeColumn column) {
  switch (column) {
    case TubeColumn::ready:
      return std::to_string(tube.ready);
    case TubeColumn::urgent:
      return std::to_string(tube.urgent);
    case TubeColumn::reserved:
      return std::to_string(tube.reserved);
    case TubeColumn::delayed:
      return std::to_string(tube.delayed);
    case TubeColumn::buried:
      return std::to_string(tube.buried);
    case TubeColumn::waiting:
      return std::to_string(tube.waiting);
    case TubeColumn::put_rate:
      return format_rate(tube.put_rate);
    case TubeColumn::delete_rate:
      return format_rate(tube.delete_rate);
    case TubeColumn::paused:
      return tube.paused_s == 0 ? "-" : std::to_string(tube.paused_s) + "s";
    case TubeColumn::name:
      return safe_word(tube.name);
  }
  return {};
}

bool is_before(const TubeStats& a, const TubeStats& b, TubeColumn column) {
  switch (column) {
    case TubeColumn::ready:
      return a.ready > b.ready;
    case TubeColumn::urgent:
      return a.urgent > b.urgent;
    case TubeColumn::reserved:
      return a.reserved > b.reserved;
    case TubeColumn::delayed:
      return a.delayed > b.delayed;
    case TubeColumn::buried:
      return a.buried > b.buried;
    case TubeColumn::waiting:
      return a.waiting > b.waiting;
    case TubeColumn::put_rate:
      return rank(a.put_rate) > rank(b.put_rate);
    case TubeColumn::delete_rate:
      return rank(a.delete_rate) > rank(b.delete_rate);
    case TubeColumn::paused:
      return a.paused_s > b.paused_s;
    case TubeColumn::name:
      break;
  }
  return false;
}

std::optional<double> rate_of(std::uint64_t before, std::uint64_t now, double seconds) {
  if (now < before || seconds <= 0) return std::nullopt;
  return static_cast<double>(now - before) / seconds;
}

void append_cell(std::string& line, std::string_view text, std::size_t width) {
  if (!line.empty()) line += ' ';
  if (text.size() < width) line.append(width - text.size(), ' ');
  line += text;
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
  tube.puts = number("total-jobs");
  tube.deletes = all->number("cmd-delete");
  // Near its end a pause has 0 seconds left; where it is still a pause, one is shown.
  if (number("pause") > 0) tube.paused_s = std::max<std::uint64_t>(number("pause-time-left"), 1);
  tube.report = std::move(report);
  return tube;
}

void set_rates(TubeStats& now, const TubeStats& before, double seconds) {
  now.put_rate = rate_of(before.puts, now.puts, seconds);
  now.delete_rate.reset();
  if (now.deletes) now.delete_rate = rate_of(before.deletes.value_or(0), *now.deletes, seconds);
}

std::string_view title_of(TubeColumn column) {
  return kColumns[static_cast<std::size_t>(column)].title;
}

std::optional<TubeColumn> column_called(std::string_view title) {
  for (const ColumnRow& row : kColumns) {
    if (row.title == title) return row.column;
  }
  return std::nullopt;
}

void sort_tubes(std::vector<TubeStats>& tubes, TubeColumn column, bool reversed) {
  std::sort(tubes.begin(), tubes.end(), [=](const TubeStats& a, const TubeStats& b) {
    const TubeStats& first = reversed ? b : a;
    const TubeStats& second = reversed ? a : b;
    if (is_before(first, second, column)) return true;
    if (is_before(second, first, column)) return false;
    return first.name < second.name;
  });
}

TubeTable tube_table(const std::vector<TubeStats>& tubes) {
  std::array<std::size_t, kTubeColumns> widths{};
  for (std::size_t i = 0; i < kTubeColumns; ++i) widths[i] = kColumns[i].width;
  for (const TubeStats& tube : tubes) {
    for (std::size_t i = 0; i < kTubeColumns; ++i) {
      if (kColumns[i].column == TubeColumn::name) continue;  // Last, so that it needs no padding.
      widths[i] = std::max(widths[i], cell(tube, kColumns[i].column).size());
    }
  }
  TubeTable table;
  for (std::size_t i = 0; i < kTubeColumns; ++i) {
    append_cell(table.header, kColumns[i].title, widths[i]);
  }
  for (const TubeStats& tube : tubes) {
    std::string line;
    for (std::size_t i = 0; i < kTubeColumns; ++i) {
      append_cell(line, cell(tube, kColumns[i].column), widths[i]);
    }
    table.rows.push_back(std::move(line));
  }
  return table;
}

std::string to_json(const TubeStats& tube) {
  const std::optional<StatsText> all = StatsText::parse(tube.report);
  return "{" + (all ? all->json_members() + "," : "") + "\"put-rate\":" + json_rate(tube.put_rate) +
         ",\"delete-rate\":" + json_rate(tube.delete_rate) + "}";
}

std::string format_rate(std::optional<double> rate) {
  if (!rate) return "-";
  char text[40];
  // 9.96 would be shown as 10.0.
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

}  // namespace haricot::tool
