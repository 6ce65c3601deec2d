#include "haricot/queue/tube_times.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "support/allocations.hpp"
#include "support/random.hpp"

namespace haricot {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;

// Returns true if the report is within 10 %, and then rounded to milliseconds; or within one
// millisecond if that is more.
bool is_near(std::uint64_t told_ms, std::uint64_t nanoseconds) {
  const double exact = static_cast<double>(nanoseconds) / kMillisecond;
  return std::abs(static_cast<double>(told_ms) - exact) <= std::max(1.05, exact / 10 + 0.5);
}

// The exact lengths at the two ranks, and the maximum.
struct Exact {
  std::uint64_t p50, p99, max;
};
Exact exact_of(std::vector<std::uint64_t> lengths) {
  std::sort(lengths.begin(), lengths.end());
  const std::size_t size = lengths.size();
  return {lengths[(size + 1) / 2 - 1], lengths[size - size / 100 - 1], lengths.back()};
}

void expect_near(const TimeSummary& summary, const Exact& exact) {
  EXPECT_PRED2(is_near, summary.p50_ms, exact.p50);
  EXPECT_PRED2(is_near, summary.p99_ms, exact.p99);
  EXPECT_PRED2(is_near, summary.max_ms, exact.max);
}

TEST(TimeHistogram, ReportsNothingIfEmpty) {
  const TimeSummary summary = TimeHistogram().summary();
  EXPECT_EQ(summary.p50_ms, 0u);
  EXPECT_EQ(summary.p99_ms, 0u);
  EXPECT_EQ(summary.max_ms, 0u);
}

TEST(TimeHistogram, ReportsAnyLengthWithinATenthInWholeMilliseconds) {
  for (std::uint64_t length = 1; length < (std::uint64_t{1} << 61); length += 1 + length / 97) {
    const std::uint32_t bucket = TimeHistogram::bucket_of(length);
    ASSERT_PRED2(is_near, TimeHistogram::milliseconds_of(bucket), length);
    ASSERT_GE(bucket, TimeHistogram::bucket_of(length - 1));
    ASSERT_LE(bucket, TimeHistogram::bucket_of(length - 1) + 1);
  }
}

TEST(TimeHistogram, NoTimeIsZero) {
  TimeHistogram histogram;
  histogram.add(0);
  EXPECT_EQ(histogram.summary().max_ms, 0u);
  histogram.add(20 * kMillisecond);
  EXPECT_EQ(histogram.summary().p50_ms, 0u);
  EXPECT_PRED2(is_near, histogram.summary().p99_ms, 20 * kMillisecond);
}

TEST(TimeHistogram, ReportsTheMedianThePercentileAndTheLongest) {
  test::Random chance(5);
  for (int round = 0; round < 50; ++round) {
    TimeHistogram histogram;
    std::vector<std::uint64_t> lengths;
    const std::uint64_t bound = std::uint64_t{1} << (21 + chance.below(30));
    for (std::uint64_t i = 1 + chance.below(3000); i > 0; --i) {
      // All sizes that one histogram distinguishes.
      lengths.push_back((bound >> chance.below(16)) + chance.below(bound / 1024));
      histogram.add(lengths.back());
    }
    expect_near(histogram.summary(), exact_of(lengths));
  }
}

TEST(TimeHistogram, CoversThisPeriodAndTheOneBefore) {
  TimeHistogram histogram;
  for (int i = 0; i < 100; ++i) histogram.add(5000 * kMillisecond);
  histogram.end_period();
  EXPECT_PRED2(is_near, histogram.summary().p50_ms, 5000 * kMillisecond);
  for (int i = 0; i < 300; ++i) histogram.add(30 * kMillisecond);
  EXPECT_PRED2(is_near, histogram.summary().p50_ms, 30 * kMillisecond);
  EXPECT_PRED2(is_near, histogram.summary().p99_ms, 5000 * kMillisecond);
  histogram.end_period();
  EXPECT_PRED2(is_near, histogram.summary().max_ms, 30 * kMillisecond);
  histogram.end_period();
  EXPECT_EQ(histogram.summary().max_ms, 0u);
}

// Lengths far below the longest count, but are reported as longer than they are.
TEST(TimeHistogram, KeepsTheLongLengthsApart) {
  constexpr std::uint64_t kDay = 86'400'000 * kMillisecond;
  TimeHistogram histogram;
  for (int i = 0; i < 60; ++i) histogram.add(2 * kMillisecond);
  for (int i = 0; i < 40; ++i) histogram.add(kDay);
  const TimeSummary summary = histogram.summary();
  EXPECT_PRED2(is_near, summary.p99_ms, kDay);
  EXPECT_PRED2(is_near, summary.max_ms, kDay);
  EXPECT_LT(summary.p50_ms, kDay / kMillisecond / 200'000);
  histogram.add(2 * kMillisecond);
  EXPECT_EQ(histogram.summary().p50_ms, summary.p50_ms);
}

// Millions in one period: counts are halved repeatedly.
TEST(TimeHistogram, StaysRightWhenCountsAreHalved) {
  test::Random chance(7);
  TimeHistogram histogram;
  std::vector<std::uint64_t> lengths;
  for (int i = 0; i < 1'500'000; ++i) {
    const bool is_slow = chance.below(1000) < 15;
    lengths.push_back((is_slow ? 900 : 40) * kMillisecond + chance.below(kMillisecond));
    histogram.add(lengths.back());
  }
  lengths.push_back(20'000 * kMillisecond);  // Hardly any are counted now; the longest is.
  histogram.add(lengths.back());
  const Exact exact = exact_of(lengths);
  ASSERT_GT(exact.p99, 800 * kMillisecond);
  expect_near(histogram.summary(), exact);
  histogram.end_period();
  expect_near(histogram.summary(), exact);
}

constexpr std::int64_t kSecondOfAges = 1'000'000'000;

TEST(ReadyAges, HasNoOldestOfNone) {
  ReadyAges ages(Instant::at(5));
  EXPECT_FALSE(ages.oldest().has_value());
  ages.add(Instant::at(5));
  ages.remove(Instant::at(5));
  EXPECT_FALSE(ages.oldest().has_value());
}

// Compared with the instants themselves, from seconds to years, with jobs that leave in any order.
TEST(ReadyAges, ReportTheOldestWithinATenthOrASecond) {
  test::Random chance(3);
  for (int round = 0; round < 40; ++round) {
    std::int64_t now = static_cast<std::int64_t>(chance.below(1'000'000)) * kSecondOfAges;
    ReadyAges ages(Instant::at(now));
    std::multiset<std::int64_t> jobs;
    for (int i = 0; i < 1000; ++i) {
      now += static_cast<std::int64_t>(chance.bits() >> (25 + chance.below(38)));
      ages.move_to(Instant::at(now));
      if (chance.below(5) < 3 || jobs.empty()) {
        // Some were ready long before they were added.
        const bool is_old = chance.one_in(10);
        const std::int64_t since =
            is_old ? now - static_cast<std::int64_t>(chance.below(1'000'000'000)) * 1'000'000 : now;
        jobs.insert(since);
        ages.add(Instant::at(since));
      } else {
        auto job = jobs.begin();
        std::advance(job, static_cast<std::ptrdiff_t>(chance.below(jobs.size())));
        ages.remove(Instant::at(*job));
        jobs.erase(job);
      }
      ASSERT_EQ(ages.size(), jobs.size());
      if (jobs.empty()) continue;
      ASSERT_TRUE(ages.oldest().has_value());
      const std::int64_t age = now - *jobs.begin();
      const std::int64_t off = std::abs(ages.oldest()->count() - *jobs.begin());
      ASSERT_LE(off, std::max(kSecondOfAges, age / 10)) << "age " << age;
    }
    while (!jobs.empty()) {
      ages.remove(Instant::at(*jobs.begin()));
      jobs.erase(jobs.begin());
    }
    EXPECT_EQ(ages.size(), 0u);
  }
}

TEST(ReadyAgesDeathTest, AJobThatWasNotAddedCannotLeave) {
  ReadyAges ages(Instant::at(5));
  EXPECT_DEATH(ages.remove(Instant::at(5)), "count > 0");
}

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
