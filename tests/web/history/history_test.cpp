#include "web/history/history.hpp"

#include <gtest/gtest.h>

namespace haricot::web {
namespace {

Track::Counts counts(std::uint32_t seconds, std::uint64_t puts, const char* process = "1") {
  return {.at = Instant::at(0) + Duration::seconds(seconds),
          .process = process,
          .puts = puts,
          .deletes = puts / 2};
}

Point ready(std::uint32_t number) {
  Point point;
  point.ready = number;
  return point;
}

TEST(Track, RatesAreThoseSinceThePointBefore) {
  Track track;
  track.add(10, ready(1), counts(0, 100));
  track.add(11, ready(2), counts(15, 250));
  EXPECT_LT(track.at(10)->puts, 0);
  EXPECT_FLOAT_EQ(track.at(11)->puts, 10);
  EXPECT_FLOAT_EQ(track.at(11)->deletes, 5);
  track.add(12, ready(2), counts(30, 300, "2"));
  EXPECT_LT(track.at(12)->puts, 0) << "the server is another process";
  track.add(13, ready(2), counts(45, 200, "2"));
  EXPECT_LT(track.at(13)->puts, 0) << "it is another tube";
}

TEST(Track, KeepsAnHour) {
  Track track;
  for (std::int64_t step = 1000; step < 1500; ++step) {
    track.add(step, ready(static_cast<std::uint32_t>(step)), counts(0, 0));
  }
  EXPECT_EQ(track.at(1259), nullptr);
  ASSERT_NE(track.at(1260), nullptr);
  EXPECT_EQ(track.at(1260)->ready, 1260U);
  EXPECT_EQ(track.at(1499)->ready, 1499U);
  EXPECT_EQ(track.at(1500), nullptr);
}

TEST(Track, WhatNobodyLookedAtHasNoPoints) {
  Track track;
  track.add(1000, ready(1), counts(0, 0));
  track.add(1001, ready(2), counts(0, 0));
  // A round of the ring and a bit: the old points must not show.
  track.add(1000 + 250, ready(3), counts(0, 0));
  for (std::int64_t step = 1001; step < 1250; ++step) EXPECT_EQ(track.at(step), nullptr) << step;
  track.add(1250 + 100, ready(4), counts(0, 0));
  EXPECT_EQ(track.at(1250)->ready, 3U);
  EXPECT_EQ(track.at(1300), nullptr);
  EXPECT_EQ(track.at(1350)->ready, 4U);
}

TEST(Track, GrowsWhenTheNewerHalfIsAboveTheOlder) {
  Track track;
  EXPECT_FALSE(is_growing(track, 10));
  std::int64_t step = 0;
  for (const std::uint32_t number : {5U, 6U, 5U}) track.add(++step, ready(number), counts(0, 0));
  EXPECT_FALSE(is_growing(track, step)) << "three points say nothing";
  for (const std::uint32_t number : {7U, 9U, 8U}) track.add(++step, ready(number), counts(0, 0));
  EXPECT_TRUE(is_growing(track, step));
  track.add(++step, ready(5), counts(0, 0));
  EXPECT_FALSE(is_growing(track, step));
  EXPECT_FALSE(is_growing(track, step + 100)) << "that was long ago";
}

}  // namespace
}  // namespace haricot::web
