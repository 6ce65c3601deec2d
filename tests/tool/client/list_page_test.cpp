#include "tool/client/list_page.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace haricot::tool
