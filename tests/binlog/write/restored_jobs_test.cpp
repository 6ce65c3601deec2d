#include "haricot/binlog/write/restored_jobs.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "binlog/parts_world.hpp"

namespace haricot::binlog {
namespace {

TEST(RestoredJobs, JobsInNoFileAreRecordedInTheirOrder) {
  PartsWorld world;
  world.begin();
  const JobRef known = world.put();
  std::vector<JobId> buried;
  for (int i = 0; i < 3; ++i) {
    const JobRef ref = world.put_in_engine(100);
    const JobId id = world.engine.journaled(ref).job.id;
    ASSERT_EQ(world.engine.reserve_job(world.client, id, world.state.now).outcome, Outcome::done);
    buried.insert(buried.begin(), id);
  }
  for (const JobId id : buried) {
    ASSERT_EQ(world.engine.bury(world.client, id, 100), Outcome::done);
  }
  world.put_in_engine(6000);
  ASSERT_TRUE(world.restored.record_all());
  EXPECT_EQ(world.stream.progress().safe(), world.stream.progress().records());
  EXPECT_EQ(world.stream.sync_line().length(), 0U);
  EXPECT_EQ(world.state.segments->of(known)->number, 1U);
  EXPECT_EQ(world.jobs_on_disk(), 5U);
  world.state.promises.check_invariants(world.engine);
  std::int64_t stamp = 0;
  for (const JobId id : buried) {
    const JobRef ref = world.engine.jobs().find(id);
    EXPECT_GT(world.engine.jobs().journal_fields(ref).stamp(), stamp);
    stamp = world.engine.jobs().journal_fields(ref).stamp();
  }
  const std::uint64_t records = world.stream.progress().records();
  ASSERT_TRUE(world.restored.record_all());
  EXPECT_EQ(world.stream.progress().records(), records) << "all are in files";
}

TEST(RestoredJobs, AKeyInNoFileIsRecordedWithoutADeletion) {
  PartsWorld world;
  world.begin();
  const JobRef ref =
      world.engine.restoring().restore_tombstone({.ref = JobRef::none,
                                                  .id = 77,
                                                  .tube_name = "default",
                                                  .key = "key",
                                                  .seconds = 60,
                                                  .end = world.state.now + Duration::seconds(60)});
  ASSERT_NE(ref, JobRef::none);
  ASSERT_TRUE(world.restored.record_all());
  ASSERT_NE(world.state.segments->of(ref), nullptr);
  EXPECT_NE(world.disk.bytes_of("binlog.1").find("KEPA"), std::string::npos);
}

TEST(RestoredJobs, AFailingDiskIsReported) {
  PartsWorld world;
  world.begin();
  world.put_in_engine(100);
  world.disk.inject({.call = DiskCall::write, .lasts = true});
  EXPECT_FALSE(world.restored.record_all());
  EXPECT_TRUE(world.stream.is_refusing());
}

TEST(RestoredJobs, TheHighestIdIsRecordedOnceIfNoFileHasIt) {
  PartsWorld world;
  world.begin();
  const JobRef ref = world.put();
  ASSERT_TRUE(world.restored.remember_last_id());
  EXPECT_EQ(world.stream.progress().records(), 1U) << "the job has it";
  world.delete_job(ref);
  (void)world.engine.take_id();
  ASSERT_TRUE(world.restored.remember_last_id());
  EXPECT_EQ(world.stream.progress().records(), 4U) << "a job and its deletion";
  EXPECT_EQ(world.state.segments->newest().highest_id, world.engine.next_id() - 1);
  ASSERT_TRUE(world.restored.remember_last_id());
  EXPECT_EQ(world.stream.progress().records(), 4U);
}

TEST(RestoredJobs, EachRestoredJobGetsItsPromises) {
  PartsWorld world;
  world.begin();
  for (int i = 0; i < 5; ++i) {
    const JobRef ref = world.put_in_engine(100);
    world.state.segments->attach(ref, 100);
  }
  world.restored.promise_room();
  world.state.promises.check_invariants(world.engine);
  EXPECT_EQ(world.state.promises.bytes(), 5 * kShortRecordBytes);
}

}  // namespace
}  // namespace haricot::binlog
