#include "haricot/queue/ready_ages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/random.hpp"

namespace haricot {
namespace {

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

}  // namespace
}  // namespace haricot
