#include "haricot/queue/tube_times.hpp"

#include <gtest/gtest.h>

namespace haricot {
namespace {

constexpr Instant second(std::int64_t seconds) {
  return Instant::at(seconds * 1'000'000'000);
}
constexpr std::uint64_t kLength = 40'000'000;

void add(TubeTimes& times, Instant now) {
  times.move_to(now);
  times.queued.add(kLength);
}
bool tells(const TubeTimes& times, Instant now) {
  return times.summary_of(times.queued, now).max_ms > 0;
}

TEST(TubeTimes, TellForFiveMinutesAtLeastAndForTenAtMost) {
  TubeTimes times(second(1000));
  add(times, second(1000));
  EXPECT_TRUE(tells(times, second(1300)));
  EXPECT_TRUE(tells(times, second(1499)));
  EXPECT_FALSE(tells(times, second(1500)));
  EXPECT_FALSE(tells(times, second(1'000'000)));
  // To look has changed nothing.
  EXPECT_TRUE(tells(times, second(1000)));
}

TEST(TubeTimes, BeginAPeriodWithTheFirstChangeInIt) {
  TubeTimes times(second(0));
  add(times, second(299));
  add(times, second(301));
  EXPECT_EQ(times.period_end, second(600));
  EXPECT_TRUE(tells(times, second(899)));
  EXPECT_FALSE(tells(times, second(900)));
  times.move_to(second(5000));
  EXPECT_EQ(times.period_end, second(5100));
  EXPECT_FALSE(tells(times, second(5000)));
  EXPECT_EQ(times.summary_of(times.worked, second(5000)).max_ms, 0u);
}

}  // namespace
}  // namespace haricot
