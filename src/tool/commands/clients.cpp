// haricot clients: a table of the connections, page by page.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/number.hpp"
#include "tool/cli/safe_text.hpp"
#include "tool/client/errand.hpp"
#include "tool/client/list_page.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "clients", "[OPTIONS]",
    "Prints a table of the connections of a server, this one among them, in the order of their\n"
    "ids. The column holder of `haricot jobs` has these ids. Connections\n"
    "come and go while the table is printed: each line is true for its moment. The server has\n"
    "to be haricotd, because beanstalkd cannot list connections.\n",
    "    haricot clients                                     # who is there\n"
    "    haricot clients --holding                           # who holds my jobs\n"};

struct Choice {
  std::uint64_t count = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t from = 1;
  bool only_holding = false;
};

// `width`: at least.
struct Column {
  std::string_view title;  // And the key.
  std::size_t width;
};
constexpr Column kColumns[] = {{"id", 6},       {"state", 8},    {"jobs", 5},
                               {"age", 8},      {"idle", 8},     {"commands", 10},
                               {"watching", 8}, {"address", 21}, {"used", 0}};

void append_cell(std::string& line, std::string_view text, std::size_t width) {
  if (!line.empty()) line += ' ';
  line.append(width - std::min(width, text.size()), ' ');
  line += text;
}

std::string titles() {
  std::string line;
  for (const Column& column : kColumns) append_cell(line, column.title, column.width);
  return line + "\n";
}

std::string row_of(const StatsText& client) {
  std::string line;
  for (const Column& column : kColumns) {
    const std::string* value = client.find(column.title);
    append_cell(line, value == nullptr ? "-" : safe_word(*value), column.width);
  }
  return line + "\n";
}

// Prints a page, and returns how many clients that were.
std::uint64_t show(const ListPage& page, const Choice& choice, std::uint64_t shown, bool json) {
  std::string text;
  std::uint64_t added = 0;
  for (const StatsText& client : page.items) {
    if (shown + added == choice.count) break;
    if (choice.only_holding && client.number("jobs").value_or(0) == 0) continue;
    if (!json && shown + added == 0) text += titles();
    text += json ? "{" + client.json_members() + "}\n" : row_of(client);
    ++added;
  }
  print(text);
  return added;
}

}  // namespace

int clients(Words words) {
  Errand errand(kText);
  Choice choice;
  errand.add({'H', "holding", "", "only those that hold jobs", set(choice.only_holding)});
  errand.add({'n', "count", "N", "so many at most",
              set_count(choice.count, 1, std::numeric_limits<std::uint64_t>::max()),
              "a number of at least 1"});
  errand.add({'i', "from", "ID", "begin with this id (1)",
              [&choice](std::string_view value) {
                choice.from = read_number(value).value_or(0);
                return choice.from > 0;
              },
              "the id of a connection"});
  if (const std::optional<int> over = errand.read(words)) return *over;
  if (!errand.operands().empty()) return errand.mistake("clients takes no operand");
  if (const std::optional<int> over = errand.connect()) return *over;

  std::uint64_t shown = 0;
  for (std::uint64_t from = choice.from; from != 0 && shown < choice.count;) {
    const std::string command =
        "list-clients " + std::to_string(from) + " " + std::to_string(kPageItemsMax);
    const std::optional<Response> response = errand.server().ask(command, ReplyCode::ok);
    if (!response) return errand.failed();
    const std::optional<ListPage> page = parse_list_page(response->body, "clients");
    if (!page || (page->next != 0 && page->next <= from)) {
      errand.server().cannot_read(command);
      return errand.failed();
    }
    shown += show(*page, choice, shown, errand.json());
    if (const int status = errand.done(); status != 0) return status;
    from = page->next;
  }
  return shown > 0 ? errand.done() : errand.no("there is no such connection");
}

}  // namespace haricot::tool
