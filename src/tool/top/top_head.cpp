#include "tool/top/top_head.hpp"

#include <algorithm>
#include <string>

#include "tool/cli/safe_text.hpp"
#include "tool/top/figures.hpp"

namespace haricot::tool {
namespace {

using Pieces = std::vector<ScreenLine::Piece>;

std::string count_of(const StatsText& stats, std::string_view key) {
  const std::optional<std::uint64_t> number = stats.number(key);
  return number ? grouped(*number) : "-";
}

// Returns alarms and the identity of the server. Alarms get their room first; the address is
// shortened to the rest, but not below kAddressColumnsMin.
Pieces identity(const TopState& state, std::size_t columns) {
  constexpr std::string_view kBegin = "haricot top: ";
  constexpr std::size_t kAddressColumnsMin = 12;
  const StatsText& server = state.sample.server;
  Pieces pieces(1);
  if (state.age_s > 0) pieces.push_back({format_span(state.age_s) + " OLD", Tone::alarm});
  if (server.is_true("draining")) pieces.push_back({"DRAIN MODE", Tone::alarm});
  if (server.is_true("binlog-refusing")) pieces.push_back({"BINLOG REFUSES", Tone::alarm});
  if (server.is_true("memory-full")) pieces.push_back({"MEMORY FULL", Tone::alarm});
  if (server.is_true("binlog-no-space")) pieces.push_back({"DISK FULL", Tone::alarm});
  std::size_t taken = 0;
  for (std::size_t i = 1; i < pieces.size(); ++i) taken += pieces[i].text.size() + 2;
  const std::string address = safe_word(state.address);
  const std::size_t room = columns - std::min(columns, taken);
  pieces[0].text = kBegin.size() + address.size() <= room || taken == 0 ? kBegin : "";
  const std::size_t left = room - std::min(room, pieces[0].text.size());
  pieces[0].text += shortened(address, std::max(left, kAddressColumnsMin));
  if (state.servers) return pieces;
  pieces.push_back({short_server_words(server)});
  pieces.push_back({"up " + format_uptime(server.number("uptime").value_or(0))});
  return pieces;
}

Pieces jobs(const StatsText& server) {
  const bool has_buried = server.number("current-jobs-buried").value_or(0) > 0;
  return {
      {"jobs: " + count_of(server, "current-jobs-ready") + " ready"},
      {count_of(server, "current-jobs-buried") + " buried", has_buried ? Tone::alarm : Tone::plain},
      {count_of(server, "current-jobs-reserved") + " reserved"},
      {count_of(server, "current-jobs-delayed") + " delayed"},
      {count_of(server, "current-jobs-urgent") + " urgent"},
  };
}

Pieces rates(const ServerRates& rates) {
  return {
      {"a second: " + grouped_rate(rates.puts) + " put"},
      {grouped_rate(rates.deletes) + " delete"},
      {grouped_rate(rates.reserves) + " reserve"},
      {grouped_rate(rates.timeouts) + " timeout"},
      {grouped_rate(rates.commands) + " commands"},
  };
}

// Only haricotd counts errors. Without -b the numbers of the files are 0.
ScreenLine::Piece binlog(const StatsText& server) {
  const std::uint64_t errors = server.number("binlog-errors").value_or(0);
  const std::string after =
      errors == 0 ? "" : ", " + grouped(errors) + (errors == 1 ? " error" : " errors");
  if (server.is_true("binlog-refusing")) return {"binlog: refuses" + after, Tone::alarm};
  if (server.is_true("binlog-no-space")) return {"binlog: no space" + after, Tone::alarm};
  if (errors > 0) return {"binlog: works" + after, Tone::warning};
  if (server.number("binlog-errors")) return {"binlog: ok"};
  return {server.number("binlog-current-index").value_or(0) > 0 ? "binlog: on" : "binlog: off"};
}

Pieces resources(const TopState& state) {
  const StatsText& server = state.sample.server;
  Pieces pieces = {{"CPU " + grouped_rate(state.rates.cpu_percent) + " %"}};
  if (state.servers) return pieces;
  if (state.memory) pieces.push_back({"memory " + format_bytes(*state.memory)});
  pieces.push_back(binlog(server));
  if (const auto used = server.number("memory-used"), max = server.number("memory-max");
      used && max) {
    const Tone tone = server.is_true("memory-full") ? Tone::alarm : Tone::plain;
    pieces.push_back({"jobs take " + format_bytes(*used) + " of " + format_bytes(*max), tone});
  }
  return pieces;
}

Pieces connections(const TopState& state) {
  const StatsText& server = state.sample.server;
  return {
      {"connections: " + count_of(server, "current-connections")},
      {count_of(server, "current-workers") + " workers"},
      {count_of(server, "current-waiting") + " waiting"},
      {count_of(server, "current-producers") + " producers"},
      {grouped_rate(state.rates.connections) + " new a second"},
  };
}

}  // namespace

ScreenLine line_of(const std::vector<ScreenLine::Piece>& phrases, std::size_t columns) {
  constexpr std::string_view kGap = ", ";
  ScreenLine line;
  for (const ScreenLine::Piece& phrase : phrases) {
    if (line.columns() > 0) {
      if (line.columns() + kGap.size() + phrase.text.size() > columns) continue;
      line.add(kGap);
    }
    line.add(phrase.text, phrase.tone);
  }
  line.fit(columns);
  return line;
}

std::vector<ScreenLine> draw_head(const TopState& state, std::size_t columns) {
  const StatsText& server = state.sample.server;
  return {line_of(identity(state, columns), columns), line_of(jobs(server), columns),
          line_of(rates(state.rates), columns), line_of(resources(state), columns),
          line_of(connections(state), columns)};
}

}  // namespace haricot::tool
