// The parts that all screens share: the lines about the server, the status line and the help.

#include <algorithm>
#include <cstdio>
#include <string>

#include "tool/cli/output.hpp"
#include "tool/top/screen_text.hpp"
#include "tool/top/screens.hpp"

namespace haricot::tool {
namespace {

constexpr std::string_view kHelp[] = {
    "haricot top: keys",
    "",
    "  q, Ctrl-C         quit",
    "  j k, down up      select the next or previous tube; page keys, home, end (g G)",
    "  Enter             show the selected tube; Esc goes back",
    "  /                 filter tubes by a part of the name or a shell pattern;",
    "                    Enter keeps the filter, Esc removes it",
    "  < > left right    sort by the previous or next column",
    "  s n               sort by the next column, by name or id",
    "  r                 reverse the order",
    "  i                 hide or show tubes without jobs and waiting workers",
    "  c                 show connections, like haricot clients; c or Esc goes back",
    "  v                 with several servers, show the next one, then the sum",
    "  + -               sample twice or half as often",
    "  space, Ctrl-L     sample now, redraw the screen",
    "  p K F             pause the tube, kick its jobs, delete its jobs; each asks",
    "                    first, and requires top --allow-changes",
    "  h ?               show this help; any key closes it",
    "",
    "marks: N jobs but no worker, B buried jobs, G growing backlog, P paused",
};

constexpr std::size_t kLinesAboveTable = kHeadLines + 2;  // With the status line and the titles.

std::string pace(const TopView& view) {
  char every[40];
  std::snprintf(every, sizeof every, "every %g s", static_cast<double>(view.interval_ms) / 1e3);
  return every;
}

ScreenLine client_status(const TopState& state, const TopView& view, std::size_t columns) {
  std::vector<ScreenLine::Piece> phrases;
  if (state.clients && state.clients->can_be_listed) {
    phrases.push_back(order_of(*state.clients, view.clients));
  }
  for (const char* const phrase : {"c: back", "h: help", "q: quit"}) phrases.push_back({phrase});
  phrases.push_back({pace(view)});
  return line_of(phrases, columns);
}

ScreenLine usual_status(const TopView& view, std::size_t shown, std::size_t columns) {
  std::vector<ScreenLine::Piece> phrases;
  phrases.push_back({grouped(shown) + (shown == 1 ? " tube by " : " tubes by ") +
                     std::string(title_of(view.sort)) + (view.reversed ? ", reversed" : "")});
  if (!view.filter.empty()) phrases.push_back({"filter " + view.filter, Tone::strong});
  if (view.hides_idle) phrases.push_back({"idle tubes hidden"});
  phrases.push_back({"h: help"});
  phrases.push_back({"q: quit"});
  phrases.push_back({pace(view)});
  return line_of(phrases, columns);
}

// Returns a line for typed text. If it is too long, cuts the beginning, because the text is typed
// at the end.
ScreenLine typed_line(std::string_view text, std::size_t columns) {
  constexpr std::string_view kGap = "..";
  ScreenLine line;
  if (text.size() + 1 <= columns) {
    line.add(text, Tone::strong);
  } else if (columns > kGap.size() + 1) {
    line.add(kGap, Tone::strong);
    line.add(text.substr(text.size() - (columns - kGap.size() - 1)), Tone::strong);
  }
  line.add("_");  // Position of the next character.
  line.fit(columns);
  return line;
}

// Returns the question, or else the trouble, or else the message, or else a description of the
// screen.
ScreenLine status_line(const TopState& state, const TopView& view, std::size_t shown,
                       std::size_t columns) {
  ScreenLine line;
  if (view.question) return typed_line(view.question->text(), columns);
  if (view.types_filter) return typed_line("/" + view.filter, columns);
  if (!state.trouble.empty()) {
    line.add(safe_word(state.trouble), Tone::title);
  } else if (!view.message.empty()) {
    line.add(safe_word(view.message), view.message_is_bad ? Tone::warning : Tone::strong);
  } else if (view.clients.is_shown) {
    return client_status(state, view, columns);
  } else if (!view.tube.empty()) {
    return line_of({{"Esc: back"},
                    {"space: sample now"},
                    {"q: quit"},
                    {view.allows_changes ? "p: pause, K: kick, F: flush" : "h: help"}},
                   columns);
  } else {
    return usual_status(view, shown, columns);
  }
  line.fit(columns);
  return line;
}

// Adds the lines below the status line.
void add_clients(const TopState& state, const TopView& view, const ScreenSize& size,
                 std::vector<ScreenLine>& lines) {
  if (state.servers) {
    lines.emplace_back("this is the sum of several servers: select one with v");
  } else if (!state.clients) {
    lines.emplace_back("the server has not answered yet");
  } else if (!state.clients->can_be_listed) {
    lines.emplace_back("the server does not know list-clients");
  } else {
    const std::vector<ScreenLine> table =
        draw_clients(*state.clients, view.clients, page_of(size), size.columns);
    lines.insert(lines.end(), table.begin(), table.end());
  }
}

}  // namespace

std::size_t page_of(const ScreenSize& size) {
  return size.rows > kLinesAboveTable ? size.rows - kLinesAboveTable : 0;
}

std::vector<ScreenLine> draw_top(const TopState& state, const TopView& view, const ScreenSize& size,
                                 const ScreenStyle& style) {
  std::vector<ScreenLine> lines;
  if (view.shows_help) {
    for (const std::string_view line : kHelp) lines.emplace_back(line);
  } else if (view.clients.is_shown) {
    lines = draw_head(state, size.columns);
    lines.push_back(status_line(state, view, 0, size.columns));
    add_clients(state, view, size, lines);
  } else if (!view.tube.empty()) {
    lines = draw_tube(state, view.tube, status_line(state, view, 0, size.columns), size, style);
  } else {
    const std::vector<TubeStats> tubes = tubes_in_view(state, view);
    TopView settled = view;
    settle(tubes, page_of(size), settled);
    const TableLayout layout = layout_of(tubes, view.sort, size.columns);
    lines = draw_head(state, size.columns);
    lines.push_back(status_line(state, view, tubes.size(), size.columns));
    lines.push_back(table_header(layout));
    for (std::size_t i = settled.first_row; i < tubes.size() && lines.size() < size.rows; ++i) {
      lines.push_back(table_row(layout, tubes[i], marks_of(tubes[i], state.history),
                                i == settled.selected_row));
    }
  }
  lines.resize(size.rows);
  for (ScreenLine& line : lines) line.fit(size.columns);
  return lines;
}

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
