// haricot clients: a table of the connections, page by page.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "tool/client/errand.hpp"
#include "tool/client/list_page.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "clients", "[OPTIONS]",
    "Prints a table of the connections of a server, including its own, in the order of their\n"
    "ids. The column holder of `haricot jobs` has these ids. Connections open and close while\n"
    "the table is printed: each line is a snapshot. Requires haricotd, because beanstalkd cannot\n"
    "list connections. Key c of `haricot top` shows them live.\n",
    "    haricot clients                                     # all connections\n"
    "    haricot clients --holding                           # the holders of jobs\n"};

struct Choice {
  std::uint64_t count = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t from = 1;
  bool only_holding = false;
};

// Prints a page and returns the number of clients printed.
std::uint64_t show(const ListPage& page, const Choice& choice, std::uint64_t shown, bool json) {
  std::string text;
  std::uint64_t added = 0;
  for (const StatsText& client : page.items) {
    if (shown + added == choice.count) break;
    if (choice.only_holding && client.number("jobs").value_or(0) == 0) continue;
    if (!json && shown + added == 0) text += titles_of(kClientColumns) + "\n";
    text += (json ? "{" + client.json_members() + "}" : row_of(kClientColumns, client)) + "\n";
    ++added;
  }
  print(text);
  return added;
}

}  // namespace

int clients(Words words) {
  Errand errand(kText);
  Choice choice;
  errand.add({'H', "holding", "", "only connections that hold jobs", set(choice.only_holding)});
  errand.add(count_flag("at most N connections", choice.count));
  errand.add(from_flag(choice.from));
  if (const std::optional<int> over = errand.read(words)) return *over;
  if (!errand.operands().empty()) return errand.mistake("clients takes no operand");
  if (const std::optional<int> over = errand.connect()) return *over;

  std::uint64_t shown = 0;
  const auto take = [&](const ListPage& page) {
    shown += show(page, choice, shown, errand.json());
    return shown < choice.count && errand.done() == 0;
  };
  // With --holding the number of matches in a page is unknown, so ask for full pages.
  const std::uint64_t page_items = choice.only_holding ? kPageItemsMax : choice.count;
  if (!ask_clients(errand.server(), choice.from, page_items, take)) return errand.failed();
  return shown > 0 ? errand.done() : errand.no("there is no such connection");
}

}  // namespace haricot::tool
