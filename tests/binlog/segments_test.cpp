#include "haricot/binlog/segments.hpp"

#include <gtest/gtest.h>

#include <map>

#include "support/random.hpp"

namespace haricot::binlog {
namespace {

class SegmentsTest : public ::testing::Test {
 protected:
  JobRef job() { return store_.create(++last_id_, NewBody{.bytes = "x", .blob = {}}); }

  JobStore store_{true};
  Segments segments_{store_};
  JobId last_id_ = 0;
};

TEST_F(SegmentsTest, KnowTheFileOfEachJob) {
  const JobRef a = job();
  const JobRef b = job();
  EXPECT_EQ(segments_.of(a), nullptr);
  segments_.add(3);
  segments_.attach(a, 100);
  segments_.add(7);  // Numbers may have gaps.
  segments_.attach(b, 50);
  EXPECT_EQ(segments_.of(a)->number, 3U);
  EXPECT_EQ(segments_.of(b)->number, 7U);
  EXPECT_EQ(segments_.live_bytes(), 150U);
  EXPECT_EQ(segments_.live_jobs(), 2U);
  segments_.check_invariants();
}

TEST_F(SegmentsTest, MoveAJobToTheNewestFile) {
  const JobRef a = job();
  segments_.add(1);
  segments_.attach(a, 100);
  segments_.add(2);
  segments_.attach(a, 100);
  EXPECT_EQ(segments_.of(a)->number, 2U);
  EXPECT_EQ(segments_.oldest().live_jobs, 0U);
  EXPECT_EQ(segments_.oldest().live_bytes, 0U);
  EXPECT_EQ(segments_.oldest().first, JobRef::none);
  segments_.remove_oldest();
  EXPECT_EQ(segments_.of(a)->number, 2U);
  segments_.check_invariants();
}

TEST_F(SegmentsTest, ForgetAJobOnce) {
  const JobRef a = job();
  segments_.add(1);
  segments_.attach(a, 100);
  segments_.detach(a, 100);
  segments_.detach(a, 100);
  EXPECT_EQ(segments_.of(a), nullptr);
  EXPECT_EQ(segments_.live_bytes(), 0U);
  EXPECT_EQ(segments_.newest().last, JobRef::none);
}

TEST_F(SegmentsTest, CanBecomeEmptyAndBeginAgain) {
  const JobRef a = job();
  segments_.add(1);
  segments_.attach(a, 10);
  segments_.detach(a, 10);
  segments_.remove_newest();
  EXPECT_TRUE(segments_.empty());
  EXPECT_EQ(segments_.of(a), nullptr);
  segments_.add(1);
  segments_.attach(a, 10);
  EXPECT_EQ(segments_.of(a)->number, 1U);
  segments_.check_invariants();
}

TEST_F(SegmentsTest, AgreeWithAPlainMapOverManySteps) {
  test::Random random;
  std::map<JobRef, std::uint64_t> where;  // Number of the file of each job.
  std::uint64_t number = 0;
  for (int step = 0; step < 5000; ++step) {
    const std::uint64_t choice = random.below(20);
    if (segments_.empty() || choice == 0) {
      number += 1 + random.below(3);
      segments_.add(number);
    } else if (choice == 1 && segments_.oldest().live_jobs == 0) {
      segments_.remove_oldest();
    } else if (choice < 8) {
      const JobRef ref = job();
      segments_.attach(ref, 10);
      where[ref] = number;
    } else if (choice < 14 && !where.empty()) {
      // From the oldest file, as by compaction, or from any other.
      JobRef ref = segments_.oldest().first;
      if (ref == JobRef::none) ref = where.begin()->first;
      segments_.attach(ref, 10);
      where[ref] = number;
    } else if (!where.empty()) {
      auto chosen = where.begin();
      std::advance(chosen, static_cast<std::ptrdiff_t>(random.below(where.size())));
      segments_.detach(chosen->first, 10);
      store_.destroy(chosen->first);
      where.erase(chosen);
    }
    if (step % 50 == 0) segments_.check_invariants();
  }
  for (const auto& [ref, file] : where) EXPECT_EQ(segments_.of(ref)->number, file);
  EXPECT_EQ(segments_.live_jobs(), where.size());
}

}  // namespace
}  // namespace haricot::binlog
