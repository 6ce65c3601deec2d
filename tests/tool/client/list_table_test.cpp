#include "tool/client/list_table.hpp"

#include <gtest/gtest.h>

#include <array>

#include "tool/client/client_list.hpp"

namespace haricot::tool {
namespace {

constexpr std::array<ListColumn, 3> kColumns = {
    {{"id", "id", 4}, {"left", "time-left", 6}, {"used", "used", 0}}};

TEST(ListTable, CellsStandBelowTheirTitles) {
  EXPECT_EQ(titles_of(kColumns), "  id   left used");
  EXPECT_EQ(row_of(kColumns, *StatsText::parse("---\nid: 7\nused: \"mail\"\ntime-left: 12\n")),
            "   7     12 mail");
}

TEST(ListTable, AMissingValueIsADash) {
  EXPECT_EQ(row_of(kColumns, *StatsText::parse("---\nid: 1234567\n")), "1234567      - -");
}

TEST(ListTable, NothingInARowSteersATerminal) {
  const StatsText item = *StatsText::parse("---\nid: 1\nused: \"a\x1b[2J\xc2\x9b\"\n");
  EXPECT_EQ(row_of(kColumns, item), "   1      - a\\x1b[2J\\xc2\\x9b");
}

}  // namespace
}  // namespace haricot::tool
