#include "haricot/binlog/format/burial_stamp.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "support/random.hpp"

namespace haricot::binlog {
namespace {

constexpr std::int64_t kNow = 1'700'000'000'123'456'789;

TEST(BurialStamp, HasTheTimeAndTheCause) {
  test::Random chance(3);
  std::int64_t last = 0;
  for (int i = 0; i < 1000; ++i) {
    const JobId id = 1 + chance.below(1'000'000);
    for (const BurialCause cause :
         {BurialCause::client, BurialCause::released, BurialCause::timed_out, BurialCause::closed,
          BurialCause::unknown}) {
      const std::int64_t at = std::max(kNow, last) + static_cast<std::int64_t>(chance.below(5000));
      const std::int64_t stamp = stamp_of(id, {.at = at, .cause = cause}, last);
      ASSERT_GT(stamp, last);
      const auto burial = burial_of(id, stamp);
      ASSERT_TRUE(burial.has_value());
      EXPECT_EQ(burial->cause, cause);
      EXPECT_LE(std::abs(burial->at - at), 256);
      last = stamp;
    }
  }
}

// A thousand burials in a microsecond, or after the wall clock was set back.
TEST(BurialStamp, GrowsFasterThanTheClockIfNecessary) {
  std::int64_t last = stamp_of(1, {.at = kNow, .cause = BurialCause::client}, 0);
  for (JobId id = 2; id < 1000; ++id) {
    const std::int64_t stamp =
        stamp_of(id, {.at = kNow - 1'000'000, .cause = BurialCause::closed}, last);
    ASSERT_GT(stamp, last);
    ASSERT_LE(stamp - last, 511);
    ASSERT_EQ(burial_of(id, stamp)->cause, BurialCause::closed);
    last = stamp;
  }
}

// Earlier versions used any time as the stamp.
TEST(BurialStamp, OfAnEarlierVersionHasATimeAndRarelyACause) {
  test::Random chance(5);
  int with_cause = 0;
  constexpr int kStamps = 10'000;
  for (int i = 0; i < kStamps; ++i) {
    const std::int64_t stamp = kNow + static_cast<std::int64_t>(chance.below(1'000'000'000));
    const auto burial = burial_of(1 + chance.below(100'000), stamp);
    if (!burial || burial->cause != BurialCause::unknown) ++with_cause;
    if (burial) {
      EXPECT_LE(stamp - burial->at, 255);
    }
  }
  EXPECT_LT(with_cause, kStamps / 20);
}

TEST(BurialStamp, OfAnotherJobDoesNotMatch) {
  int with_cause = 0;
  for (JobId id = 2; id < 1002; ++id) {
    const std::int64_t stamp = stamp_of(1, {.at = kNow, .cause = BurialCause::client}, 0);
    with_cause += burial_of(id, stamp)->cause == BurialCause::client ? 1 : 0;
  }
  EXPECT_LT(with_cause, 100);
}

TEST(BurialStamp, WithoutTimeKeepsTheOrderOnly) {
  std::int64_t last = 0;
  for (JobId id = 1; id < 100; ++id) {
    const std::int64_t stamp = stamp_without_time(id, last);
    ASSERT_GT(stamp, last);
    EXPECT_FALSE(burial_of(id, stamp).has_value());
    last = stamp;
  }
}

// Damaged or invented files may have any number.
TEST(BurialStamp, IsDefinedForAllNumbers) {
  using Limits = std::numeric_limits<std::int64_t>;
  for (const std::int64_t last :
       {Limits::min(), std::int64_t{-1}, std::int64_t{0}, Limits::max()}) {
    for (const std::int64_t at : {Limits::min(), std::int64_t{-1}, Limits::max()}) {
      const std::int64_t stamp = stamp_of(7, {.at = at, .cause = BurialCause::client}, last);
      EXPECT_EQ(burial_of(7, stamp)->cause, BurialCause::client);
      EXPECT_GT(stamp, last == Limits::max() ? 0 : last);
    }
    EXPECT_FALSE(burial_of(7, stamp_without_time(7, last)).has_value());
    static_cast<void>(burial_of(7, last));
  }
}

}  // namespace
}  // namespace haricot::binlog
