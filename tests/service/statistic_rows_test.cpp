#include "haricot/service/statistic_rows.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string_view>

namespace haricot {
namespace {

using OfNumber = Rows<int>;

constexpr std::array kOne = {OfNumber::integer(
    "one", [](const int& n) { return n + 1; }, "one")};
constexpr std::array kOthers = {OfNumber::quoted(
                                    "two", [](const int&) { return std::string_view("2"); }, "two"),
                                OfNumber::word(
                                    "three", [](const int&) { return std::string_view("3"); },
                                    kSame, [](const int& n) { return n > 3; })};

TEST(StatisticRows, HaveTheirTypeValueAndCondition) {
  EXPECT_EQ(kOne[0].type, StatisticType::integer);
  EXPECT_EQ(kOne[0].number(4), 5U);
  EXPECT_EQ(kOne[0].is_shown, nullptr);
  EXPECT_EQ(kOthers[0].type, StatisticType::quoted);
  EXPECT_EQ(kOthers[1].type, StatisticType::word);
  EXPECT_EQ(kOthers[1].word(0), "3");
  EXPECT_FALSE(kOthers[1].is_shown(3));
  EXPECT_TRUE(kOthers[1].is_shown(4));
}

TEST(StatisticRows, JoinedTablesKeepTheirOrder) {
  constexpr auto kAll = joined(kOne, kOthers);
  ASSERT_EQ(kAll.size(), 3U);
  EXPECT_EQ(kAll[0].key, "one");
  EXPECT_EQ(kAll[2].key, "three");
  static_assert(has_each_key_once(kAll));
  static_assert(!has_each_key_once(joined(kOne, kAll)));
}

}  // namespace
}  // namespace haricot
