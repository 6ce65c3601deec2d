#include "haricot/queue/queries.hpp"

#include <optional>
#include <vector>

#include "queue/parts.hpp"

namespace haricot {
namespace {

class LooksTest : public test::Parts {
 protected:
  std::vector<JobRef> list(JobState state, std::uint32_t count) {
    std::vector<JobRef> found;
    queries.list(tube, state, count, found);
    return found;
  }
};

using Refs = std::vector<JobRef>;

TEST_F(LooksTest, AListIsInTheOrderOfServing) {
  const JobRef late = make_ready({}, 200);
  const JobRef first = make_ready({}, 50);
  const JobRef middle = make_ready({}, 100);
  EXPECT_EQ(list(JobState::ready, 9), (Refs{first, middle, late}));
  EXPECT_EQ(list(JobState::ready, 2), (Refs{first, middle}));
  const JobRef far = make_delayed(Duration::seconds(9));
  const JobRef near = make_delayed(Duration::seconds(1));
  EXPECT_EQ(list(JobState::delayed, 9), (Refs{near, far}));
  const JobRef buried = make_buried();
  EXPECT_EQ(list(JobState::buried, 9), Refs{buried});
  EXPECT_EQ(list(JobState::buried, 0), Refs{});
}

TEST_F(LooksTest, AScanCountsExaminedJobsAndContinuesBehindThem) {
  Refs all;
  for (std::uint32_t i = 0; i < 5; ++i) all.push_back(i % 2 == 0 ? make_ready() : make_buried());
  Refs found;
  const std::uint64_t before = state.steps;
  const ScanResult some = queries.scan(0, 2, nullptr, JobState::buried, found);
  EXPECT_EQ(found, (Refs{all[1], all[3]}));
  EXPECT_EQ(some.scanned, 4U);
  EXPECT_EQ(some.next, state.jobs[all[4]].id);
  EXPECT_GE(state.steps, before + 4);
  const ScanResult rest = queries.scan(some.next, 2, nullptr, std::nullopt, found);
  EXPECT_EQ(found, (Refs{all[1], all[3], all[4]}));
  EXPECT_EQ(rest.next, 0U);
}

TEST_F(LooksTest, ClientsComeInTheOrderOfTheirReferences) {
  Client& first = open();
  Client& second = open();
  std::vector<const Client*> found;
  const std::uint64_t next = queries.scan_clients(0, 1, found);
  ASSERT_NE(next, 0U);
  EXPECT_EQ(queries.scan_clients(next, 9, found), 0U);
  EXPECT_EQ(found, (std::vector<const Client*>{&first, &second}));
}

TEST_F(LooksTest, AReportNamesTheHolderAndTheRestOfTheTtr) {
  Client& worker = open();
  const JobRef ref = make_ready();
  EXPECT_EQ(queries.peek_ready(worker), ref);
  ASSERT_EQ(give(worker), ref);
  EXPECT_EQ(queries.peek_ready(worker), JobRef::none);
  const JobReport report = queries.report(ref, state.now + Duration::seconds(20));
  EXPECT_EQ(report.state, JobState::reserved);
  EXPECT_EQ(report.holder, worker.ref());
  EXPECT_EQ(report.time_left_s, 40U);
  EXPECT_EQ(report.age_s, 20U);
  EXPECT_EQ(queries.report(JobId{99}, state.now), std::nullopt);
  destroy(ref);
}

}  // namespace
}  // namespace haricot
