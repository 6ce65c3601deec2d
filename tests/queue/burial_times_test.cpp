#include "haricot/queue/burial_times.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "support/allocations.hpp"
#include "support/random.hpp"

namespace haricot {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::uint32_t kPieces = 100;

Instant burial_second(std::int64_t seconds) {
  return Instant::at(seconds * kSecond);
}

std::optional<Instant> since_of(const BurialTimes& times, PieceRef at, Instant now) {
  const std::optional<Burial> burial = times.get(at, now);
  return burial ? std::optional(burial->since) : std::nullopt;
}

TEST(BurialTimes, AreKnownToASecond) {
  BurialTimes times;
  const Instant now = burial_second(1000);
  EXPECT_EQ(since_of(times, {3, 7}, now), std::nullopt);
  times.set({3, 7}, kPieces, {.since = Instant::at(5 * kSecond + 999'999'999)});
  EXPECT_EQ(since_of(times, {3, 7}, now), burial_second(5));
  EXPECT_EQ(since_of(times, {3, 6}, now), std::nullopt);
  EXPECT_EQ(since_of(times, {2, 7}, now), std::nullopt);
  EXPECT_EQ(since_of(times, {4, 7}, now), std::nullopt);
  times.set({3, 7}, kPieces, {.since = now});
  EXPECT_EQ(since_of(times, {3, 7}, now), now);
  EXPECT_EQ(times.size(), 1U);
}

// The zero of an Instant is arbitrary, for example the start of the machine.
TEST(BurialTimes, MayBeNegative) {
  BurialTimes times;
  const Instant before = Instant::at(-5 * kSecond - 1);
  times.set({1, 0}, kPieces, {.since = before});
  EXPECT_EQ(since_of(times, {1, 0}, before), burial_second(-6));
  EXPECT_EQ(since_of(times, {1, 0}, burial_second(30)), burial_second(-6));
}

TEST(BurialTimes, CoverYears) {
  BurialTimes times;
  const std::int64_t years = 8LL * 365 * 86400;
  times.set({1, 0}, kPieces, {.since = burial_second(-years)});
  EXPECT_EQ(since_of(times, {1, 0}, burial_second(years)), burial_second(-years));
}

// A server that takes over may have read its clock before the burial.
TEST(BurialTimes, MayBeInTheNearFuture) {
  BurialTimes times;
  times.set({1, 0}, kPieces, {.since = burial_second(90)});
  EXPECT_EQ(since_of(times, {1, 0}, burial_second(80)), burial_second(90));
  EXPECT_EQ(since_of(times, {1, 0}, burial_second(100)), burial_second(90));
}

TEST(BurialTimes, HaveACause) {
  BurialTimes times;
  for (const BurialCause cause :
       {BurialCause::client, BurialCause::released, BurialCause::timed_out, BurialCause::closed,
        BurialCause::memory, BurialCause::unknown}) {
    times.set({1, 5}, kPieces, {.since = burial_second(0), .cause = cause});
    ASSERT_TRUE(times.get({1, 5}, burial_second(3)).has_value());
    EXPECT_EQ(times.get({1, 5}, burial_second(3))->cause, cause);
    EXPECT_EQ(times.get({1, 5}, burial_second(3))->since, burial_second(0));
    EXPECT_EQ(burial_cause(static_cast<std::uint32_t>(cause)), cause);
  }
  for (const std::uint32_t number : {0U, 5U, 8U}) {
    EXPECT_EQ(burial_cause(number), BurialCause::unknown);
  }
}

TEST(BurialTimes, TakeMemoryForChunksWithABurial) {
  BurialTimes times;
  times.clear({9, 9});
  EXPECT_EQ(times.memory_bytes(), 0U);
  const std::int64_t before = test::live_allocations();
  times.set({1, 5}, kPieces, {.since = burial_second(1)});
  times.set({1, 6}, kPieces, {.since = burial_second(1)});
  EXPECT_EQ(times.memory_bytes(), 4 * kPieces);
  times.set({2, 5}, 7, {.since = burial_second(1)});
  EXPECT_EQ(times.memory_bytes(), 4 * kPieces + 4 * 7);
  times.clear({1, 5});
  times.clear({1, 5});
  EXPECT_EQ(times.memory_bytes(), 4 * kPieces + 4 * 7);
  times.clear({1, 6});
  times.clear({2, 5});
  EXPECT_EQ(times.memory_bytes(), 0U);
  EXPECT_EQ(times.size(), 0U);
  EXPECT_LE(test::live_allocations(), before + 1);  // The list of columns.
}

TEST(BurialTimes, WithoutMemoryNothingIsStored) {
  for (int succeed = 0; succeed < 2; ++succeed) {
    BurialTimes times;
    {
      const test::AllocationFailure failure(succeed);
      times.set({1, 5}, kPieces, {.since = burial_second(1)});
      EXPECT_TRUE(failure.happened());
    }
    EXPECT_EQ(since_of(times, {1, 5}, burial_second(9)), std::nullopt);
    EXPECT_EQ(times.memory_bytes(), 0U);
    times.set({1, 5}, kPieces, {.since = burial_second(1)});
    EXPECT_EQ(since_of(times, {1, 5}, burial_second(9)), burial_second(1));
  }
}

TEST(BurialTimes, AreThoseThatWereSetLast) {
  test::Random chance(7);
  BurialTimes times;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> model;
  std::int64_t now = 0;
  for (int i = 0; i < 20'000; ++i) {
    now += static_cast<std::int64_t>(chance.below(50));
    const PieceRef at{.chunk = static_cast<std::uint32_t>(1 + chance.below(4)),
                      .piece = static_cast<std::uint32_t>(chance.below(kPieces))};
    if (chance.one_in(2)) {
      times.set(at, kPieces, {.since = burial_second(now)});
      model[{at.chunk, at.piece}] = now;
    } else {
      times.clear(at);
      model.erase({at.chunk, at.piece});
    }
    ASSERT_EQ(times.size(), model.size());
    const auto found = model.find({at.chunk, at.piece});
    const auto stored = since_of(times, at, burial_second(now));
    ASSERT_EQ(stored.has_value(), found != model.end());
  }
  for (const auto& [at, seconds] : model) {
    ASSERT_EQ(since_of(times, {at.first, at.second}, burial_second(now)), burial_second(seconds));
  }
}

}  // namespace
}  // namespace haricot
