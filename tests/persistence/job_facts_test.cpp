// Tests that the comparison of jobs detects differences and considers the elapsed time.

#include "job_facts.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

namespace haricot::test {
namespace {

using std::chrono::milliseconds;

JobFacts facts(std::uint64_t age, std::uint64_t time_left, milliseconds at) {
  static const Moment kStart;
  return {.id = 1,
          .state = "delayed",
          .delay = 1000,
          .age = age,
          .time_left = time_left,
          .seen = {.begin = kStart.begin + at, .end = kStart.begin + at + milliseconds(200)}};
}

bool is_same(const JobFacts& before, const JobFacts& after) {
  return differences(Jobs{{1, before}}, Jobs{{1, after}}).empty();
}

TEST(JobFactsTest, AnAgeGrowsByTheElapsedTime) {
  const JobFacts before = facts(100, 900, milliseconds(0));
  const milliseconds later{5500};  // 5.3 to 5.7 seconds, and 1 for rounding.
  for (std::uint64_t age = 95; age < 115; ++age) {
    EXPECT_EQ(is_same(before, facts(age, 895, later)), age >= 104 && age <= 107) << age;
  }
  EXPECT_FALSE(is_same(before, facts(100, 895, later)));
}

TEST(JobFactsTest, TheTimeLeftDecreasesByTheElapsedTime) {
  const milliseconds later{5500};
  const JobFacts before = facts(100, 900, milliseconds(0));
  for (std::uint64_t left = 885; left < 905; ++left) {
    EXPECT_EQ(is_same(before, facts(105, left, later)), left >= 893 && left <= 896) << left;
  }
  const JobFacts soon = facts(100, 2, milliseconds(0));
  EXPECT_TRUE(is_same(soon, facts(105, 0, later)));
  EXPECT_FALSE(is_same(soon, facts(105, 1, later)));
}

TEST(JobFactsTest, AtTheSameMomentNothingHasChanged) {
  const JobFacts before = facts(100, 900, milliseconds(0));
  EXPECT_TRUE(is_same(before, before));
  EXPECT_FALSE(is_same(before, facts(103, 900, milliseconds(0))));
  JobFacts other = before;
  other.priority = 1;
  EXPECT_FALSE(is_same(before, other));
}

}  // namespace
}  // namespace haricot::test
