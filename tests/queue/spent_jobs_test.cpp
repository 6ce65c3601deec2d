#include "haricot/queue/spent_jobs.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace haricot {
namespace {

constexpr TubeRef kOne{1};
constexpr TubeRef kOther{2};

TEST(SpentJobCounts, ReportATubeAtMostOnceAMinute) {
  const Instant start = Instant::at(1'000'000'000'000);
  SpentJobCounts counts;
  EXPECT_FALSE(counts.has_something_to_log());
  counts.add(kOne, "one", 7, start);
  counts.add(kOne, "one", 8, start + Duration::seconds(59));
  counts.add(kOther, "other", 9, start + Duration::seconds(59));
  std::vector<SpentJobs> taken = counts.take();
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(taken[0].tube, "one");
  EXPECT_EQ(taken[0].last_id, 7U);
  EXPECT_EQ(taken[0].jobs, 1U);
  EXPECT_EQ(taken[1].tube, "other");
  EXPECT_FALSE(counts.has_something_to_log());
  counts.add(kOne, "one", 10, start + Duration::seconds(60));
  taken = counts.take();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].last_id, 10U);
  EXPECT_EQ(taken[0].jobs, 2U) << "with the one that was not reported";
}

TEST(SpentJobCounts, CountForEachTubeUntilItGoes) {
  SpentJobCounts counts;
  EXPECT_EQ(counts.total(kOne), 0U);
  counts.forget(kOne);
  for (int i = 0; i < 3; ++i) counts.add(kOne, "one", 1, Instant::at(1));
  counts.add(kOther, "other", 1, Instant::at(1));
  EXPECT_EQ(counts.total(kOne), 3U);
  EXPECT_EQ(counts.total(kOther), 1U);
  counts.forget(kOne);
  EXPECT_EQ(counts.total(kOne), 0U);
  EXPECT_EQ(counts.total(kOther), 1U);
}

TEST(SpentJobCounts, ReportAtMostTenTubesAMinute) {
  const Instant start = Instant::at(1'000'000'000'000);
  SpentJobCounts counts;
  std::vector<SpentJobs> taken;
  for (int i = 0; i < 1000; ++i) {
    counts.add(kOne, "passing", 7, start + Duration::milliseconds(59 * i));
    counts.forget(kOne);
    for (const SpentJobs& spent : counts.take()) taken.push_back(spent);
  }
  EXPECT_EQ(taken.size(), SpentJobCounts::kLinesAMinute);
  counts.add(kOther, "other", 8, start + Duration::seconds(60));
  taken = counts.take();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].jobs, 1U);
  EXPECT_EQ(taken[0].others, 1000U - SpentJobCounts::kLinesAMinute);
}

TEST(SpentJobCounts, ATubeWithoutALineIsAmongTheOthersUntilItHasOne) {
  const Instant start = Instant::at(1'000'000'000'000);
  SpentJobCounts counts;
  for (std::uint32_t i = 1; i <= SpentJobCounts::kLinesAMinute + 1; ++i) {
    counts.add(TubeRef{i}, "tube", 7, start);
  }
  EXPECT_EQ(counts.take().size(), SpentJobCounts::kLinesAMinute);
  counts.add(TubeRef{1}, "first", 8, start + Duration::seconds(60));
  counts.add(TubeRef{SpentJobCounts::kLinesAMinute + 1}, "last", 9, start + Duration::seconds(60));
  const std::vector<SpentJobs> taken = counts.take();
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(taken[0].others, 1U);
  EXPECT_EQ(taken[1].jobs, 2U);
  EXPECT_EQ(taken[1].others, 0U);
}

}  // namespace
}  // namespace haricot
