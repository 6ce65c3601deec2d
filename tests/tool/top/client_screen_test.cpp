#include "tool/top/screens.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace haricot::tool {
namespace {

StatsText client(const std::string& id, const std::string& state, const std::string& jobs,
                 const std::string& used = "default") {
  return *StatsText::parse("---\nid: " + id + "\naddress: \"127.0.0.1:400" + id +
                           "\"\nage: 7200\nused: \"" + used + "\"\nwatching: 1\nstate: " + state +
                           "\njobs: " + jobs + "\ncommands: 59207\nidle: 75\n");
}

SeenClients three() {
  return {.can_be_listed = true,
          .clients = {client("1", "idle", "0"), client("2", "waiting", "3", "mail"),
                      client("3", "body", "3", "news")}};
}

std::string ids_of(const SeenClients& seen, const ClientView& view, std::size_t rows = 10) {
  std::string ids;
  for (const ScreenLine& line : draw_clients(seen, view, rows, 100)) {
    const std::string text = line.text();
    if (text[5] != 'd') ids += text[5];
  }
  return ids;
}

TEST(ClientScreen, TheClientWithMostJobsIsFirst) {
  EXPECT_EQ(ids_of(three(), {}), "231");
  EXPECT_EQ(ids_of(three(), {.reversed = true}), "132");
  EXPECT_EQ(order_of(three(), {}).text, "3 connections by jobs");
  EXPECT_EQ(order_of({}, {.sort = 0, .reversed = true}).text, "0 connections by id, reversed");
}

TEST(ClientScreen, KeysChooseTheColumn) {
  ClientView view;
  apply(Key::previous_column, 3, 10, view);
  EXPECT_EQ(ids_of(three(), view), "312") << "by state";
  apply(Key::by_name, 3, 10, view);
  EXPECT_EQ(ids_of(three(), view), "123") << "by id";
  apply(Key::previous_column, 3, 10, view);
  EXPECT_EQ(ids_of(three(), view), "123") << "by the tube in use";
  apply(Key::reverse, 3, 10, view);
  EXPECT_EQ(ids_of(three(), view), "321");
  apply(Key::next_column, 3, 10, view);
  EXPECT_EQ(view.sort, 0U);
}

TEST(ClientScreen, ItScrollsWithinTheTable) {
  ClientView view;
  const auto row_after = [&view](Key key, std::size_t clients = 10) {
    apply(key, clients, 4, view);
    return view.first_row;
  };
  EXPECT_EQ(row_after(Key::up), 0U);
  EXPECT_EQ(row_after(Key::down), 1U);
  EXPECT_EQ(row_after(Key::page_down), 5U);
  EXPECT_EQ(row_after(Key::page_down), 6U);
  EXPECT_EQ(row_after(Key::down), 6U);
  EXPECT_EQ(row_after(Key::page_up), 2U);
  EXPECT_EQ(row_after(Key::last), 6U);
  // After connections have closed, the last ones are shown, and the next key starts from them.
  EXPECT_EQ(ids_of(three(), view, 2), "31");
  EXPECT_EQ(row_after(Key::up, 5), 0U);
  EXPECT_EQ(row_after(Key::last, 0), 0U);
}

TEST(ClientScreen, ColumnsOnTheRightLeaveFirst) {
  const auto lines_of = [](std::size_t columns) {
    std::string text;
    SeenClients seen{.can_be_listed = true,
                     .clients = {client("1", "idle", "0", std::string(60, 'x'))}};
    for (const ScreenLine& line : draw_clients(seen, {}, 5, columns)) {
      EXPECT_EQ(line.columns(), columns);
      text += line.text() + "|\n";
    }
    return text;
  };
  EXPECT_EQ(lines_of(80),
            "    id   state  jobs   age  idle commands watching address               used   |\n"
            "     1    idle     0  120m   75s   59,207        1 127.0.0.1:4001        xxx..xx|\n");
  EXPECT_EQ(lines_of(60),
            "    id   state  jobs   age  idle commands watching          |\n"
            "     1    idle     0  120m   75s   59,207        1          |\n");
  EXPECT_EQ(lines_of(20), "    id   state  jobs|\n     1    idle     0|\n");
  EXPECT_EQ(lines_of(1), " |\n |\n");
}

TEST(ClientScreen, NoAnswerOfAServerControlsTheTerminal) {
  SeenClients seen;
  for (const char* const text :
       {"---\nid: \x1b[2J\njobs: 1\x1b\nused: \"a\x1b]0;b\a\"\n", "---\nx: \x9b\n"}) {
    seen.clients.push_back(*StatsText::parse(text));
  }
  for (std::size_t sort = 0; sort < 9; ++sort) {
    for (const ScreenLine& line : draw_clients(seen, {.sort = sort}, 5, 200)) {
      for (const char c : line.text()) EXPECT_TRUE(c >= ' ' && c <= '~');
    }
  }
}

}  // namespace
}  // namespace haricot::tool
