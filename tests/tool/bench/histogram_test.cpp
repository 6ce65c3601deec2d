#include "tool/bench/histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "support/random.hpp"

namespace haricot::tool {
namespace {

TEST(Histogram, WithoutSamplesEverythingIsZero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.max(), 0U);
  EXPECT_EQ(histogram.value_at(0.5), 0U);
}

TEST(Histogram, SmallValuesAreExact) {
  for (std::uint64_t value = 0; value < 256; ++value) {
    Histogram histogram;
    histogram.record(value);
    histogram.record(100'000);  // Otherwise the maximum would limit the value.
    EXPECT_EQ(histogram.value_at(0.5), value);
  }
}

TEST(Histogram, EveryValueIsAtMostOneIn128TooHighAndNeverTooLow) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    const std::uint64_t power = std::uint64_t{1} << bit;
    for (const std::uint64_t value : {power - 1, power, power + 1, power + power / 3}) {
      Histogram histogram;
      histogram.record(value);
      histogram.record(UINT64_MAX);
      const std::uint64_t seen = histogram.value_at(0.5);
      EXPECT_GE(seen, value);
      EXPECT_LE(seen - value, value / 128) << value;
    }
  }
}

TEST(Histogram, TheMaximumIsExactAndNoPercentileExceedsIt) {
  Histogram histogram;
  histogram.record(1'000'003);
  EXPECT_EQ(histogram.max(), 1'000'003U);
  EXPECT_EQ(histogram.value_at(0.999), 1'000'003U);
  EXPECT_EQ(histogram.value_at(1), 1'000'003U);
}

TEST(Histogram, PercentilesAreThoseOfTheSortedSamples) {
  test::Random random(20);
  std::vector<std::uint64_t> samples(10'000);
  Histogram histogram;
  for (std::uint64_t& sample : samples) {
    sample =
        random.bits() >> random.between(36, 56);  // Small and large samples are equally likely.
    histogram.record(sample);
  }
  std::sort(samples.begin(), samples.end());
  for (const double share : {0.0001, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank = static_cast<std::size_t>(std::ceil(share * 10'000));
    const std::uint64_t exact = samples[rank - 1];
    const std::uint64_t seen = histogram.value_at(share);
    EXPECT_GE(seen, exact) << share;
    EXPECT_LE(seen, exact + exact / 128) << share;
  }
}

TEST(Histogram, OneSlowSampleOfAThousandIsSeenAtTheEndOnly) {
  Histogram histogram;
  histogram.record(100, 999);
  histogram.record(5'000'000);
  EXPECT_EQ(histogram.value_at(0.999), 100U);
  EXPECT_EQ(histogram.value_at(0.9991), 5'000'000U);
}

TEST(Histogram, ManyAtOnceCountLikeManyAlone) {
  Histogram at_once;
  Histogram alone;
  at_once.record(77'777, 64);
  for (int i = 0; i < 64; ++i) alone.record(77'777);
  at_once.record(3);
  alone.record(3);
  EXPECT_EQ(at_once.count(), alone.count());
  for (const double share : {0.01, 0.02, 0.5}) {
    EXPECT_EQ(at_once.value_at(share), alone.value_at(share));
  }
}

TEST(Histogram, AddingPutsTheSamplesOfTwoTogether) {
  Histogram sum;
  Histogram other;
  sum.record(10, 3);
  other.record(1'000, 7);
  sum.add(other);
  EXPECT_EQ(sum.count(), 10U);
  EXPECT_EQ(sum.max(), 1'000U);
  EXPECT_EQ(sum.value_at(0.3), 10U);
  EXPECT_GE(sum.value_at(0.31), 1'000U);
}

TEST(HistogramDeathTest, OnlyCountedValuesCanBeSubtracted) {
  Histogram small;
  Histogram large;
  large.record(10);
  EXPECT_DEATH(small.subtract(large), "count_");
  EXPECT_DEATH((void)large.value_at(99), "share");
}

}  // namespace
}  // namespace haricot::tool
