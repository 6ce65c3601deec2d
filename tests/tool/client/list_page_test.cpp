#include "tool/client/list_page.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace haricot::tool {
namespace {

TEST(ListPage, HasTheItemsOfTheListThatIsAskedFor) {
  const auto page = parse_list_page(
      "---\nnext: 9\njobs:\n- id: 1\nclients:\n- id: 5\n  used: \"a\"\n", "clients");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->next, 9U);
  ASSERT_EQ(page->items.size(), 1U);
  EXPECT_EQ(page->items[0].json_members(), R"("id":5,"used":"a")");
}

TEST(ListPage, OfAnotherListIsRefused) {
  EXPECT_FALSE(parse_list_page("---\nnext: 0\njobs: []\n", "clients"));
  EXPECT_TRUE(parse_list_page("---\nnext: 0\nclients: []\n", "clients"));
}

TEST(JobPage, HasTheJobsAndWhereTheNextPageBegins) {
  const auto page = parse_job_page(
      "---\nnext: 8\njobs:\n- id: 5\n  tube: \"mail\"\n  state: ready\n- id: 7\n  tube: \"12\"\n"
      "  state: buried\n");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->next, 8U);
  ASSERT_EQ(page->jobs.size(), 2U);
  EXPECT_EQ(page->jobs[0].json_members(), R"("id":5,"tube":"mail","state":"ready")");
  EXPECT_EQ(page->jobs[1].json_members(), R"("id":7,"tube":"12","state":"buried")");
}

TEST(JobPage, MayBeEmpty) {
  const auto page = parse_job_page("---\nnext: 1001\njobs: []\n");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->next, 1001U);
  EXPECT_TRUE(page->jobs.empty());
}

TEST(JobPage, OfListJobsHasNoNextPage) {
  const auto page = parse_job_page("---\njobs:\n- id: 5\n");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->next, 0U);
  EXPECT_EQ(page->jobs.size(), 1U);
}

TEST(JobPage, KeysOfANewerServerAreLetThrough) {
  const auto page =
      parse_job_page("---\nnext: 3\nmore: 1\njobs:\n- id: 5\n  colour: red:\nlast: 2\n");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->next, 3U);
  ASSERT_EQ(page->jobs.size(), 1U);
  EXPECT_EQ(*page->jobs[0].find("colour"), "red:");
}

TEST(JobPage, KeysOfANewerServerThatHaveLinesBelowThemArePassedOver) {
  const auto page = parse_job_page(
      "---\nseen:\n- id: 1\n  at: 2\njobs:\n- id: 5\n  marks:\n    hue: red\n  - x\n  tube: \"a: "
      "b\"\n"
      "- id: 6\nlost:\n- id: 7\n  at: 8\nnext: 9\n");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->next, 9U);
  ASSERT_EQ(page->jobs.size(), 2U);
  EXPECT_EQ(page->jobs[0].json_members(), R"("id":5,"tube":"a: b")");
  EXPECT_EQ(page->jobs[1].json_members(), R"("id":6)");
}

TEST(JobPage, InvalidListsOfJobsAreRefused) {
  for (const char* text :
       {"", "---\n", "---\nnext: 0\n", "---\nnext: x\njobs: []\n", "jobs: []\n",
        "---\njobs:\n  id: 5\n", "---\njobs:\n- tube: a\n", "---\njobs:\n- id: 5\n  tube\n",
        "---\njobs:\n- id: 5", "---\njobs:\n- id: 5\n- tube: a\n", "---\njobs:\n\n",
        "---\njobs:\n- id: 5\nid\n", "---\njobs: []\n\n"}) {
    EXPECT_FALSE(parse_job_page(text)) << text;
  }
}

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
