#include "haricot/queue/times.hpp"

#include "queue/parts.hpp"

namespace haricot {
namespace {

class TimesTest : public test::Parts {};

TEST_F(TimesTest, ATubeHasNoneUntilThereIsSomethingToKeep) {
  make_ready();
  make_delayed(Duration::seconds(9));
  EXPECT_EQ(tube.times, nullptr);
  make_buried();
  EXPECT_EQ(tube.times, nullptr);
  give(open());
  EXPECT_NE(tube.times, nullptr);
}

TEST_F(TimesTest, MeasureTheWaitAndTheWorkOfAJob) {
  Client& worker = open();
  const JobRef ref = make_ready();
  pass(Duration::seconds(4));
  EXPECT_EQ(times.detail(tube).oldest_ready_s, 4U);
  ASSERT_EQ(give(worker), ref);
  pass(Duration::seconds(2));
  destroy(ref);
  const TubeDetail detail = times.detail(tube);
  EXPECT_EQ(detail.oldest_ready_s, 0U);
  EXPECT_NEAR(static_cast<double>(detail.queued.max_ms), 4000, 400);
  EXPECT_NEAR(static_cast<double>(detail.worked.max_ms), 2000, 200);
}

TEST_F(TimesTest, CountManyByAgeWithoutFlushedJobs) {
  for (std::uint32_t i = 0; i <= Times::kReadyScanned; ++i) make_ready();
  ASSERT_NE(tube.times, nullptr);
  ASSERT_NE(tube.times->ready, nullptr);
  EXPECT_EQ(tube.times->ready->size(), Times::kReadyScanned + 1);
  EXPECT_LT(Times::detail_steps(tube), Times::kReadyScanned);
  Times::forget_ready(tube);
  EXPECT_EQ(tube.times->ready, nullptr);
}

}  // namespace
}  // namespace haricot
