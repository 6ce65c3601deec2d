#include "haricot/queue/burial_runs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <utility>

#include "support/allocations.hpp"
#include "support/random.hpp"

namespace haricot {
namespace {

constexpr std::int64_t kSecondOfBurials = 1'000'000'000;

JobRef buried_ref(std::uint32_t number) {
  return static_cast<JobRef>(number);
}

// The buried jobs of a tube, with their instants.
class Burials {
 public:
  void add(std::int64_t now) {
    jobs_.emplace_back(buried_ref(++last_), now);
    runs.add(buried_ref(last_), Instant::at(now));
  }
  void remove(std::size_t index) {
    auto job = jobs_.begin();
    std::advance(job, static_cast<std::ptrdiff_t>(index));
    runs.remove(job->first, job == jobs_.begin() ? JobRef::none : std::prev(job)->first);
    jobs_.erase(job);
  }
  std::size_t size() const { return jobs_.size(); }
  std::int64_t oldest() const { return jobs_.front().second; }
  JobRef last() const { return jobs_.back().first; }

  BurialRuns runs;

 private:
  std::list<std::pair<JobRef, std::int64_t>> jobs_;
  std::uint32_t last_ = 0;
};

TEST(BurialRuns, KeepTheTimeOfTheOnlyBurial) {
  Burials burials;
  EXPECT_FALSE(burials.runs.oldest().has_value());
  burials.add(7 * kSecondOfBurials);
  EXPECT_EQ(burials.runs.oldest(), Instant::at(7 * kSecondOfBurials));
  burials.remove(0);
  EXPECT_FALSE(burials.runs.oldest().has_value());
}

TEST(BurialRuns, KeepTheTimeOfTheFirstBurialWithinATenthOrASecond) {
  test::Random chance(11);
  for (int round = 0; round < 40; ++round) {
    Burials burials;
    std::int64_t now = 0;
    const std::uint64_t removals = 1 + chance.below(9);
    for (int i = 0; i < 3000; ++i) {
      now += static_cast<std::int64_t>(chance.bits() >> (27 + chance.below(36)));
      if (chance.below(10) >= removals || burials.size() == 0) {
        burials.add(now);
      } else {
        burials.remove(chance.one_in(2) ? 0 : chance.below(burials.size()));
      }
      if (burials.size() == 0) continue;
      ASSERT_TRUE(burials.runs.oldest().has_value());
      const std::int64_t off = burials.oldest() - burials.runs.oldest()->count();
      ASSERT_GE(off, 0);
      ASSERT_LE(off, std::max(kSecondOfBurials, (now - burials.oldest()) / 10));
    }
    while (burials.size() > 0) burials.remove(burials.size() - 1);
    EXPECT_EQ(burials.runs.size(), 0u);
  }
}

// A million seconds, one job per second.
TEST(BurialRuns, StayFewHoweverLongJobsAreBuried) {
  Burials burials;
  std::size_t most = 0;
  for (std::int64_t i = 0; i < 1'000'000; ++i) {
    burials.add(i * kSecondOfBurials);
    most = std::max(most, burials.runs.size());
  }
  EXPECT_LE(most, 400u);
}

}  // namespace
}  // namespace haricot
