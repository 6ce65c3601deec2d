#include "web/observe/tube_rows.hpp"

#include <gtest/gtest.h>

#include <string>

namespace haricot::web {
namespace {

constexpr HashKey kKey = {1, 2};

TEST(TubeRows, ReturnTheAddedRows) {
  TubeRows rows(kKey);
  TubeRow row;
  row.name = "mail";
  for (std::size_t i = 0; i < kTubeFields; ++i) row.numbers[i] = (std::uint64_t{1} << (3 * i)) - 1;
  row.put_rate = 1234.567;
  row.delete_rate = 0;
  row.label = 7;
  rows.add(row);
  TubeRow other;
  other.name = "other";
  rows.add(other);

  const TubeRow back = rows.at(0);
  EXPECT_EQ(back.name, "mail");
  EXPECT_EQ(back.numbers, row.numbers);
  EXPECT_DOUBLE_EQ(back.put_rate.value_or(-1), 1234.567);
  EXPECT_DOUBLE_EQ(back.delete_rate.value_or(-1), 0);
  EXPECT_EQ(back.label, 7);
  EXPECT_EQ(rows.at(1).numbers, other.numbers);
  EXPECT_FALSE(rows.at(1).put_rate.has_value());
  EXPECT_FALSE(rows.at(1).delete_rate.has_value());
}

TEST(TubeRows, AreFoundByName) {
  TubeRows rows(kKey);
  EXPECT_FALSE(rows.find("tube-0").has_value());
  rows.reserve(1000, 20'000);
  for (int i = 0; i < 10'000; ++i) {
    const std::string name = "tube-" + std::to_string(i);
    TubeRow row;
    row.name = name;
    row[TubeField::ready] = static_cast<std::uint64_t>(i);
    rows.add(row);
  }
  rows.shrink();
  for (int i = 0; i < 10'000; ++i) {
    const auto found = rows.find("tube-" + std::to_string(i));
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(rows.at(*found)[TubeField::ready], static_cast<std::uint64_t>(i));
  }
  EXPECT_FALSE(rows.find("tube-10000").has_value());
  EXPECT_FALSE(rows.find("").has_value());
}

// The table of limits states about 40 bytes for a usual tube.
TEST(TubeRows, TakeFewBytes) {
  TubeRows rows(kKey);
  const std::string name(20, 'x');
  TubeRow row;
  row.name = name;
  row[TubeField::ready] = 12;
  row[TubeField::puts] = 100'000;
  row[TubeField::deletes] = 100'000;
  row[TubeField::watching] = 3;
  row[TubeField::oldest_ready] = 40;
  row.put_rate = 0.5;
  row.delete_rate = 0.5;
  rows.add(row);
  EXPECT_LE(rows.bytes(), 42U);
}

TEST(TubeRow, APauseNearItsEndIsAPauseStill) {
  TubeRow row;
  EXPECT_EQ(row.paused_s(), 0U);
  row[TubeField::pause] = 60;
  EXPECT_EQ(row.paused_s(), 1U);
  row[TubeField::pause_left] = 30;
  EXPECT_EQ(row.paused_s(), 30U);
}

}  // namespace
}  // namespace haricot::web
