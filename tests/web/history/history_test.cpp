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
  EXPECT_NEAR(track.at(11)->puts, 10, 0.01);
  EXPECT_NEAR(track.at(11)->deletes, 5, 0.01);
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
  EXPECT_FALSE(track.at(1259).has_value());
  ASSERT_TRUE(track.at(1260).has_value());
  EXPECT_EQ(track.at(1260)->ready, 1260U);
  EXPECT_EQ(track.at(1499)->ready, 1499U);
  EXPECT_FALSE(track.at(1500).has_value());
}

TEST(Track, ATimeWithoutSamplesHasNoPoints) {
  Track track;
  track.add(1000, ready(1), counts(0, 0));
  track.add(1001, ready(2), counts(0, 0));
  // Fills more than the ring: old points must not be shown.
  track.add(1000 + 250, ready(3), counts(0, 0));
  for (std::int64_t step = 1001; step < 1250; ++step)
    EXPECT_FALSE(track.at(step).has_value()) << step;
  track.add(1250 + 100, ready(4), counts(0, 0));
  EXPECT_EQ(track.at(1250)->ready, 3U);
  EXPECT_FALSE(track.at(1300).has_value());
  EXPECT_EQ(track.at(1350)->ready, 4U);
}

TEST(Track, KeepsADayInStepsOfTwoMinutes) {
  Track track;
  constexpr std::int64_t kDay = 24 * 3600 / 15;
  for (std::int64_t step = 0; step < kDay + 80; ++step) {
    track.add(
        step, ready(static_cast<std::uint32_t>(step % 8)),
        counts(static_cast<std::uint32_t>(step * 15), static_cast<std::uint64_t>(step * 300)));
  }
  EXPECT_FALSE(track.at_day_step(9).has_value());
  ASSERT_TRUE(track.at_day_step(10).has_value());
  EXPECT_EQ(track.at_day_step(10)->ready, 7U) << "the largest of two minutes";
  EXPECT_NEAR(track.at_day_step(10)->puts, 20, 0.05);
  EXPECT_FALSE(track.at(80).has_value()) << "an hour is all that has points of 15 seconds";
}

TEST(Track, OfTenServersADayFitsIn30Megabytes) {
  constexpr std::size_t kTracks = 10 * (History::kTubesMax + 1);
  EXPECT_LT(kTracks * (sizeof(Track) + 22 * (Track::kPoints + Track::kDayPoints)), 30'000'000U);
}

TEST(PointRing, KeepsNumbersOfAllSizes) {
  PointRing ring(4);
  for (const std::uint32_t number : {0U, 1U, 7U, 1999U, 1'000'000U, 4'294'967'295U}) {
    Point point;
    point.ready = number;
    point.puts = static_cast<float>(number) / 10;
    point.timeouts = -1;
    ring.set(number, point);
    const Point kept = ring.at(number).value();
    EXPECT_NEAR(kept.ready, number, number < 2000 ? 0 : number * 0.0003);
    EXPECT_NEAR(kept.puts, point.puts, point.puts * 0.0003F + 0.0001F);
    EXPECT_LT(kept.timeouts, 0) << "not known";
    EXPECT_FALSE(kept.has_times);
  }
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
