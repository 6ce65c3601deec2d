#include "tool/top/top_screen.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <utility>

#include "haricot/base/json.hpp"
#include "tool/cli/safe_text.hpp"

namespace haricot::tool {
namespace {

constexpr std::string_view kHelp[] = {
    "haricot top: keys",
    "",
    "  q, Ctrl-C         quit",
    "  < > left right    sort by the column on the left, on the right",
    "  s n               sort by the next column, by the name",
    "  r                 sort the other way round",
    "  i                 hide or show tubes that have no job and no waiting worker",
    "  j k, up down      a line down or up; page up and down, home and end (g G)",
    "  + -               ask twice as often, half as often",
    "  blank, Ctrl-L     ask now, draw everything anew",
    "  h ?               this help; any key ends it",
};

std::string value_of(const StatsText& stats, std::string_view key) {
  const std::string* value = stats.find(key);
  return value == nullptr ? "-" : safe_word(*value);
}

bool is_true(const StatsText& stats, std::string_view key) {
  const std::string* value = stats.find(key);
  return value != nullptr && (*value == "true" || *value == "1");
}

std::string identity_line(const TopState& state) {
  const StatsText& server = state.sample.server;
  std::string line = "haricot top: " + safe_word(state.address) + ", version " +
                     value_of(server, "version") + ", up " +
                     format_uptime(server.number("uptime").value_or(0));
  if (is_true(server, "draining")) line += ", DRAIN MODE";
  if (is_true(server, "binlog-refusing")) line += ", BINLOG FAILS";
  return line;
}

// Fills up with blanks or cuts, to exactly so many columns.
std::string fitted(std::string_view text, std::size_t columns) {
  std::string line(text.substr(0, columns));
  line.resize(columns, ' ');
  return line;
}

// The line above the table: what is wrong, else how the table is sorted.
std::string status_line(const TopState& state, const TopView& view, std::size_t shown) {
  if (!state.trouble.empty()) return safe_word(state.trouble);
  std::string line = std::to_string(shown) + " tubes by " + std::string(title_of(view.sort));
  if (view.reversed) line += ", reversed";
  if (view.hides_idle) line += ", without idle ones";
  char every[80];
  std::snprintf(every, sizeof every, ", every %g s; h: help, q: quit",
                static_cast<double>(view.interval_ms) / 1e3);
  return line + every;
}

constexpr std::size_t kSummaryLines = 4;
constexpr std::size_t kLinesAboveTable = kSummaryLines + 2;  // And the status, and the titles.

}  // namespace

std::string format_uptime(std::uint64_t seconds) {
  constexpr std::uint64_t kDay = 86'400;
  constexpr std::uint64_t kHour = 3'600;
  char text[60];
  const auto days = static_cast<unsigned long long>(seconds / kDay);
  const auto hours = static_cast<unsigned long long>(seconds % kDay / kHour);
  const auto minutes = static_cast<unsigned long long>(seconds % kHour / 60);
  const auto rest = static_cast<unsigned long long>(seconds % 60);
  if (days > 0) {
    std::snprintf(text, sizeof text, "%llud %llu:%02llu:%02llu", days, hours, minutes, rest);
  } else if (hours > 0) {
    std::snprintf(text, sizeof text, "%llu:%02llu:%02llu", hours, minutes, rest);
  } else {
    std::snprintf(text, sizeof text, "%llu:%02llu", minutes, rest);
  }
  return text;
}

std::vector<std::string> top_summary(const TopState& state) {
  const StatsText& s = state.sample.server;
  const ServerRates& r = state.rates;
  return {
      identity_line(state),
      "jobs: " + value_of(s, "current-jobs-ready") + " ready (" +
          value_of(s, "current-jobs-urgent") + " urgent), " + value_of(s, "current-jobs-reserved") +
          " reserved, " + value_of(s, "current-jobs-delayed") + " delayed, " +
          value_of(s, "current-jobs-buried") + " buried",
      "a second: " + format_rate(r.puts) + " put, " + format_rate(r.reserves) + " reserve, " +
          format_rate(r.deletes) + " delete, " + format_rate(r.timeouts) + " timeout, " +
          format_rate(r.commands) + " commands; CPU " + format_rate(r.cpu_percent) + " %",
      "connections: " + value_of(s, "current-connections") + ", " +
          value_of(s, "current-producers") + " producers, " + value_of(s, "current-workers") +
          " workers, " + value_of(s, "current-waiting") + " waiting, " +
          format_rate(r.connections) + " new a second",
  };
}

std::vector<TubeStats> tubes_in_view(const TopState& state, const TopView& view) {
  std::vector<TubeStats> tubes;
  std::copy_if(state.sample.tubes.begin(), state.sample.tubes.end(), std::back_inserter(tubes),
               [&view](const TubeStats& tube) { return !view.hides_idle || !tube.is_idle(); });
  sort_tubes(tubes, view.sort, view.reversed);
  return tubes;
}

std::size_t page_of(const ScreenSize& size) {
  return size.rows > kLinesAboveTable ? size.rows - kLinesAboveTable : 0;
}

std::vector<ScreenLine> draw_top(const TopState& state, const TopView& view,
                                 const ScreenSize& size) {
  std::vector<ScreenLine> lines;
  const auto add = [&](std::string_view text, bool is_inverse = false) {
    if (lines.size() < size.rows) lines.push_back({fitted(text, size.columns), is_inverse});
  };
  if (view.shows_help) {
    for (const std::string_view line : kHelp) add(line);
  } else {
    const std::vector<TubeStats> tubes = tubes_in_view(state, view);
    const TubeTable table = tube_table(tubes);
    for (const std::string& line : top_summary(state)) add(line);
    add(status_line(state, view, tubes.size()), !state.trouble.empty());
    add(table.header, true);
    // Tubes may have gone since somebody scrolled.
    const std::size_t page = page_of(size);
    const std::size_t last_first = table.rows.size() > page ? table.rows.size() - page : 0;
    for (std::size_t i = std::min(view.first_row, last_first); i < table.rows.size(); ++i) {
      add(table.rows[i]);
    }
  }
  while (lines.size() < size.rows) add("");
  return lines;
}

std::string batch_text(const TopState& state, const TopView& view) {
  std::string text;
  for (const std::string& line : top_summary(state)) text += line + "\n";
  const TubeTable table = tube_table(tubes_in_view(state, view));
  text += "\n" + table.header + "\n";
  for (const std::string& row : table.rows) text += row + "\n";
  return text;
}

std::string batch_json(const TopState& state, const TopView& view) {
  const ServerRates& r = state.rates;
  const std::pair<std::string_view, std::optional<double>> rates[] = {
      {"put", r.puts},
      {"reserve", r.reserves},
      {"delete", r.deletes},
      {"timeout", r.timeouts},
      {"commands", r.commands},
      {"connections", r.connections},
      {"cpu-percent", r.cpu_percent}};
  std::string text = "{\"address\":" + json_string(state.address) + ",\"rates\":{";
  for (const auto& [name, rate] : rates) {
    if (!text.ends_with('{')) text += ',';
    text += json_string(name) + ":" + json_rate(rate);
  }
  text += "},\"server\":{" + state.sample.server.json_members() + "},\"tubes\":[";
  for (const TubeStats& tube : tubes_in_view(state, view)) {
    if (!text.ends_with('[')) text += ',';
    text += to_json(tube);
  }
  return text + "]}\n";
}

std::string repaint(const std::vector<ScreenLine>& before, const std::vector<ScreenLine>& now) {
  std::string bytes = before.empty() ? "\x1b[0m\x1b[2J" : "";
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (i < before.size() && before[i] == now[i]) continue;
    bytes += "\x1b[" + std::to_string(i + 1) + ";1H";
    bytes += now[i].is_inverse ? "\x1b[7m" + now[i].text + "\x1b[0m" : now[i].text;
  }
  return bytes;
}

}  // namespace haricot::tool
