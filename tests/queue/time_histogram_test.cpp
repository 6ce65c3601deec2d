#include "haricot/queue/time_histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

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

}  // namespace
}  // namespace haricot
