// The screen of the connections of a server.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tool/cli/output.hpp"
#include "tool/client/list_page.hpp"
#include "tool/top/screen_text.hpp"
#include "tool/top/screens.hpp"

namespace haricot::tool {
namespace {

enum class Kind : std::uint8_t { id, number, time, word };

struct ClientColumn {
  std::string_view key;
  Kind kind;
  std::size_t columns;  // With the blank before it. Words at the end of the line are aligned left.
  bool is_left = false;
};
constexpr std::array<ClientColumn, kClientColumns.size()> kColumns = {{
    {"id", Kind::id, 6},
    {"state", Kind::word, 8},
    {"jobs", Kind::number, 6},
    {"age", Kind::time, 6},
    {"idle", Kind::time, 6},
    {"commands", Kind::number, 9},
    {"watching", Kind::number, 9},
    {"address", Kind::word, 22, true},
    {"used", Kind::word, 8, true},
}};
static_assert(std::equal(kColumns.begin(), kColumns.end(), kClientColumns.begin(),
                         [](const ClientColumn& a, const ListColumn& b) { return a.key == b.key; }),
              "the columns of haricot clients");

std::string cell(const StatsText& client, const ClientColumn& column) {
  const std::string* text = client.find(column.key);
  if (text == nullptr) return "-";
  const std::optional<std::uint64_t> number = client.number(column.key);
  if (column.kind == Kind::number && number) return grouped(*number);
  if (column.kind == Kind::time && number) return format_span(*number);
  return safe_word(*text);
}

template <typename Cell>
ScreenLine line_of_cells(std::size_t columns, Tone tone, const Cell& cell_of) {
  std::string line;
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    const ClientColumn& column = kColumns[i];
    if (line.size() + column.columns > columns) break;
    const bool is_last = i + 1 == kColumns.size();
    std::string text = cell_of(i);
    if (is_last) text = shortened(text, columns - line.size() - 1);
    const std::size_t gap = column.columns - std::min(column.columns - 1, text.size());
    line.append(column.is_left ? 1 : gap, ' ');
    line += text;
    if (column.is_left) line.append(gap - 1, ' ');
  }
  ScreenLine made(line, tone);
  made.fit(columns);
  return made;
}

// Sort key of a connection. Members that the column does not use are equal in all.
struct Rank {
  std::uint64_t number = 0;
  std::string_view word;
  std::size_t index = 0;
};

bool is_before(const Rank& a, const Rank& b) {
  if (a.number != b.number) return a.number > b.number;
  if (a.word != b.word) return a.word < b.word;
  return a.index < b.index;
}

// Returns the first `count` connections in the order of the view.
std::vector<Rank> sorted(const std::vector<StatsText>& clients, const ClientView& view,
                         std::size_t count) {
  const ClientColumn& column = kColumns[view.sort];
  std::vector<Rank> ranks(clients.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    ranks[i].index = i;
    if (column.kind == Kind::id) continue;  // Already in this order.
    const std::string* value = clients[i].find(column.key);
    if (column.kind == Kind::word) ranks[i].word = value == nullptr ? std::string_view() : *value;
    if (column.kind != Kind::word) ranks[i].number = clients[i].number(column.key).value_or(0);
  }
  count = std::min(count, ranks.size());
  const auto middle = ranks.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(ranks.begin(), middle, ranks.end(), [&view](const Rank& a, const Rank& b) {
    return view.reversed ? is_before(b, a) : is_before(a, b);
  });
  ranks.resize(count);
  return ranks;
}

std::size_t last_first_row(std::size_t clients, std::size_t page) {
  return clients > page ? clients - page : 0;
}

}  // namespace

void apply(Key key, std::size_t clients, std::size_t page, ClientView& view) {
  const std::size_t last = last_first_row(clients, page);
  const std::size_t row = std::min(view.first_row, last);
  if (key == Key::next_column) view.sort = (view.sort + 1) % kColumns.size();
  if (key == Key::previous_column) view.sort = (view.sort + kColumns.size() - 1) % kColumns.size();
  if (key == Key::by_name) view.sort = 0;
  if (key == Key::reverse) view.reversed = !view.reversed;
  if (key == Key::up) view.first_row = row - std::min<std::size_t>(row, 1);
  if (key == Key::down) view.first_row = std::min(row + 1, last);
  if (key == Key::page_up) view.first_row = row - std::min(row, page);
  if (key == Key::page_down) view.first_row = std::min(row + page, last);
  if (key == Key::first) view.first_row = 0;
  if (key == Key::last) view.first_row = last;
}

ScreenLine::Piece order_of(const SeenClients& seen, const ClientView& view) {
  const std::size_t count = seen.clients.size();
  return {grouped(count) + (count == 1 ? " connection by " : " connections by ") +
          std::string(kClientColumns[view.sort].title) + (view.reversed ? ", reversed" : "")};
}

std::vector<ScreenLine> draw_clients(const SeenClients& seen, const ClientView& view,
                                     std::size_t rows, std::size_t columns) {
  std::vector<ScreenLine> lines;
  lines.push_back(line_of_cells(
      columns, Tone::title, [](std::size_t i) { return std::string(kClientColumns[i].title); }));
  const std::vector<StatsText>& clients = seen.clients;
  const std::size_t first = std::min(view.first_row, last_first_row(clients.size(), rows));
  const std::vector<Rank> ranks = sorted(clients, view, first + rows);
  for (std::size_t i = first; i < ranks.size(); ++i) {
    const StatsText& client = clients[ranks[i].index];
    lines.push_back(line_of_cells(columns, Tone::plain,
                                  [&client](std::size_t k) { return cell(client, kColumns[k]); }));
  }
  return lines;
}

}  // namespace haricot::tool
