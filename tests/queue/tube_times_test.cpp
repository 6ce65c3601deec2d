#include "haricot/queue/tube_times.hpp"

#include <gtest/gtest.h>

namespace haricot {
namespace {

constexpr Instant at_second(std::int64_t seconds) {
  return Instant::at(seconds * 1'000'000'000);
}
constexpr std::uint64_t kLengthAdded = 40'000'000;

void add_length(TubeTimes& times, Instant now) {
  times.move_to(now);
  times.queued.add(kLengthAdded);
}
bool tells(const TubeTimes& times, Instant now) {
  return times.summary_of(times.queued, now).max_ms > 0;
}

TEST(TubeTimes, CoverFiveToTenMinutes) {
  TubeTimes times(at_second(1000));
  add_length(times, at_second(1000));
  EXPECT_TRUE(tells(times, at_second(1300)));
  EXPECT_TRUE(tells(times, at_second(1499)));
  EXPECT_FALSE(tells(times, at_second(1500)));
  EXPECT_FALSE(tells(times, at_second(1'000'000)));
  // A query changes nothing.
  EXPECT_TRUE(tells(times, at_second(1000)));
}

TEST(TubeTimes, BeginAPeriodWithTheFirstChangeInIt) {
  TubeTimes times(at_second(0));
  add_length(times, at_second(299));
  add_length(times, at_second(301));
  EXPECT_EQ(times.period_end, at_second(600));
  EXPECT_TRUE(tells(times, at_second(899)));
  EXPECT_FALSE(tells(times, at_second(900)));
  times.move_to(at_second(5000));
  EXPECT_EQ(times.period_end, at_second(5100));
  EXPECT_FALSE(tells(times, at_second(5000)));
  EXPECT_EQ(times.summary_of(times.worked, at_second(5000)).max_ms, 0u);
}

}  // namespace
}  // namespace haricot
