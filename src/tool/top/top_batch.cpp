// The output of `haricot top` without a terminal.

#include <optional>
#include <utility>

#include "haricot/base/encoding.hpp"
#include "tool/cli/output.hpp"
#include "tool/top/screen_text.hpp"
#include "tool/top/screens.hpp"
#include "tool/top/top_state.hpp"

namespace haricot::tool {
namespace {

std::string value_of(const StatsText& stats, std::string_view key) {
  const std::string* value = stats.find(key);
  return value == nullptr ? "-" : safe_word(*value);
}

std::string identity_line(const TopState& state) {
  const StatsText& server = state.sample.server;
  std::string line = "haricot top: " + safe_word(state.address);
  if (!state.servers) {
    line += ", " + short_server_words(server) + ", up " +
            format_uptime(server.number("uptime").value_or(0));
  }
  if (server.is_true("draining")) line += ", DRAIN MODE";
  if (server.is_true("binlog-refusing")) line += ", BINLOG FAILS";
  return line;
}

}  // namespace

std::vector<std::string> batch_summary(const TopState& state) {
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

std::string batch_text(const TopState& state, const TopView& view) {
  std::string text;
  for (const std::string& line : batch_summary(state)) text += line + "\n";
  const TubeTable table = tube_table(tubes_in_view(state, view));
  text += "\n" + table.header + "\n";
  for (const std::string& row : table.rows) text += row + "\n";
  return text;
}

namespace {

// Returns the JSON members for a server, or for the sum.
std::string json_members(const TopState& state, const TopView& view) {
  const ServerRates& r = state.rates;
  const std::pair<std::string_view, std::optional<double>> rates[] = {
      {"put", r.puts},
      {"reserve", r.reserves},
      {"delete", r.deletes},
      {"timeout", r.timeouts},
      {"commands", r.commands},
      {"connections", r.connections},
      {"cpu-percent", r.cpu_percent}};
  std::string text = state.servers ? "" : "\"address\":" + json_string(state.address) + ",";
  text += "\"rates\":{";
  for (const auto& [name, rate] : rates) {
    if (!text.ends_with('{')) text += ',';
    text += json_string(name) + ":" + json_rate(rate);
  }
  text += "},\"server\":{" + state.sample.server.json_members() + "},\"tubes\":[";
  for (const TubeStats& tube : tubes_in_view(state, view)) {
    if (!text.ends_with('[')) text += ',';
    text += to_json(tube);
  }
  return text + "]";
}

}  // namespace

std::string batch_text_of_several(std::span<const TopState> states, const TopView& view) {
  std::string text = batch_text(states.front(), view);
  for (const TopState& server : states.subspan(1)) {
    if (server.trouble.empty()) text += "\n" + batch_text(server, view);
  }
  return text;
}

std::string batch_json(std::span<const TopState> servers, const TopView& view) {
  TopState sum;
  add_up(servers, sum);
  std::string text = "{\"sum\":{" + json_members(sum, view) + "},\"servers\":[";
  for (const TopState& server : servers) {
    if (!server.trouble.empty()) continue;
    if (!text.ends_with('[')) text += ',';
    text += "{" + json_members(server, view) + "}";
  }
  return text + "]}\n";
}

}  // namespace haricot::tool
