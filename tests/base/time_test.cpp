#include "haricot/base/time.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace haricot {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

TEST(Duration, UnitsAreNanoseconds) {
  EXPECT_EQ(Duration().count(), 0);
  EXPECT_EQ(Duration::nanoseconds(7).count(), 7);
  EXPECT_EQ(Duration::milliseconds(7).count(), 7'000'000);
  EXPECT_EQ(Duration::seconds(7).count(), 7'000'000'000);
  EXPECT_EQ(Duration::seconds(4294967295).count(), 4'294'967'295'000'000'000);
}

TEST(Duration, WholeSecondsAreRoundedDown) {
  EXPECT_EQ(Duration::nanoseconds(0).whole_seconds(), 0u);
  EXPECT_EQ(Duration::nanoseconds(999'999'999).whole_seconds(), 0u);
  EXPECT_EQ(Duration::nanoseconds(1'000'000'000).whole_seconds(), 1u);
  EXPECT_EQ(Duration::nanoseconds(1'999'999'999).whole_seconds(), 1u);
  EXPECT_EQ(Duration::nanoseconds(kMax).whole_seconds(), 9'223'372'036u);
}

TEST(Duration, ANegativeOneHasNoWholeSeconds) {
  EXPECT_EQ(Duration::nanoseconds(-1).whole_seconds(), 0u);
  EXPECT_EQ(Duration::nanoseconds(-5'000'000'000).whole_seconds(), 0u);
  EXPECT_EQ(Duration::nanoseconds(kMin).whole_seconds(), 0u);
}

TEST(Duration, IsOrderedByLength) {
  EXPECT_LT(Duration::nanoseconds(-1), Duration());
  EXPECT_LT(Duration::milliseconds(999), Duration::seconds(1));
  EXPECT_EQ(Duration::milliseconds(1000), Duration::seconds(1));
}

TEST(Instant, AddingADurationAndTakingItOffGivesTheSame) {
  const Instant now = Instant::at(123'456'789);
  EXPECT_EQ((now + Duration::seconds(5)).count(), 5'123'456'789);
  EXPECT_EQ(now + Duration::seconds(5) - Duration::seconds(5), now);
  EXPECT_EQ(now + Duration::seconds(5) - now, Duration::seconds(5));
  EXPECT_EQ(now - (now + Duration::seconds(5)), Duration::nanoseconds(-5'000'000'000));
}

TEST(Instant, ASumThatDoesNotFitIsNever) {
  EXPECT_EQ(Instant::at(kMax - 10) + Duration::nanoseconds(10), Instant::never());
  EXPECT_EQ(Instant::at(kMax - 10) + Duration::nanoseconds(11), Instant::never());
  EXPECT_EQ(Instant::at(kMax - 10) + Duration::seconds(4294967295), Instant::never());
  EXPECT_EQ(Instant::never() + Duration::seconds(1), Instant::never());
  EXPECT_EQ(Instant::never() + Duration::nanoseconds(kMax), Instant::never());
}

TEST(Instant, NeverMinusADurationIsStillNever) {
  EXPECT_EQ(Instant::never() - Duration::seconds(1), Instant::never());
  EXPECT_EQ(Instant::never() - Duration::seconds(4294967295), Instant::never());
}

TEST(Instant, ASumBelowTheFirstInstantIsTheFirst) {
  EXPECT_EQ((Instant::at(kMin + 10) - Duration::nanoseconds(11)).count(), kMin);
  EXPECT_EQ((Instant::at(kMin) + Duration::nanoseconds(-1)).count(), kMin);
}

TEST(Instant, ADifferenceThatDoesNotFitIsTheLongestThereIs) {
  EXPECT_EQ((Instant::never() - Instant::at(-1)).count(), kMax);
  EXPECT_EQ((Instant::at(-2) - Instant::never()).count(), kMin);
  EXPECT_EQ((Instant::at(kMin) - Instant::at(1)).count(), kMin);
}

TEST(Instant, TheLongestDelayOfTheProtocolFitsForACenturyOfUptime) {
  const Instant century = Instant::at(100LL * 365 * 24 * 3600 * 1'000'000'000);
  const Instant deadline = century + Duration::seconds(4294967295);
  EXPECT_LT(deadline, Instant::never());
  EXPECT_EQ((deadline - century).whole_seconds(), 4294967295u);
}

TEST(Instant, NeverIsLaterThanEverything) {
  EXPECT_LT(Instant(), Instant::never());
  EXPECT_LT(Instant::at(kMax - 1), Instant::never());
  EXPECT_EQ(std::min(Instant::never(), Instant::at(5)), Instant::at(5));
}

// The result is never too small, and a second too large only in the last 67 ms before that second.
TEST(CoarseInstant, CountsThePassedSeconds) {
  for (std::int64_t begin = 0; begin < 2'000'000'000; begin += 31'415'927) {
    const Instant then = Instant::at(7'000'000'000 + begin);
    const CoarseInstant coarse(then);
    EXPECT_EQ(coarse.whole_seconds_until(then), 0U);
    EXPECT_EQ(coarse.whole_seconds_until(then + Duration::seconds(2)), 2U);
    EXPECT_EQ(coarse.whole_seconds_until(then + Duration::milliseconds(2930)), 2U);
    EXPECT_EQ(coarse.whole_seconds_until(then + Duration::seconds(3)), 3U);
  }
}

TEST(CoarseInstant, IsRightForNineYearsOverEachEndOfItsNumber) {
  constexpr std::uint32_t kNineYears = 9 * 365 * 86400;
  for (std::int64_t years = 0; years < 100; years += 3) {
    const Instant then = Instant::at(years * 365 * 86400 * 1'000'000'000);
    EXPECT_EQ(CoarseInstant(then).whole_seconds_until(then + Duration::seconds(kNineYears)),
              kNineYears);
  }
}

TEST(RateLimit, AllowsOneAnInterval) {
  RateLimit limit(Duration::nanoseconds(10), Instant::at(5));
  EXPECT_FALSE(limit.take(Instant::at(4)));
  EXPECT_TRUE(limit.take(Instant::at(7)));
  EXPECT_FALSE(limit.take(Instant::at(7)));
  EXPECT_FALSE(limit.take(Instant::at(16)));
  EXPECT_TRUE(limit.take(Instant::at(17)));
}

TEST(RateLimit, IdleIntervalsAreNotMadeUpFor) {
  RateLimit limit(Duration::nanoseconds(10), Instant::at(0));
  EXPECT_TRUE(limit.take(Instant::at(100)));
  EXPECT_FALSE(limit.take(Instant::at(109)));
  EXPECT_TRUE(limit.take(Instant::at(110)));
}

TEST(RateLimit, AllowsTheSetNumberInEachInterval) {
  RateLimit limit(Duration::nanoseconds(10), Instant::at(0), 2);
  EXPECT_TRUE(limit.take(Instant::at(5)));
  EXPECT_TRUE(limit.take(Instant::at(14)));
  EXPECT_FALSE(limit.take(Instant::at(14)));
  EXPECT_TRUE(limit.take(Instant::at(15)));
  EXPECT_TRUE(limit.take(Instant::at(15)));
  EXPECT_FALSE(limit.take(Instant::at(24)));
}

}  // namespace

}  // namespace haricot
