// Tags of jobs, in records of their own in front of the full record.

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "binlog_world.hpp"
#include "haricot/base/job_tags.hpp"

namespace haricot::binlog {
namespace {

// The longest text: five records. Its content does not matter to the binlog.
const std::string kLongest = "try:3 later:" + std::string(kTagTextBytesMax - 12, 'x');

std::string_view tags_of_job(const World& world, JobId id) {
  const JobRef ref = world.engine.peek(id);
  return ref == JobRef::none ? "no job" : world.engine.jobs().tags(ref);
}

class BinlogTags : public ::testing::TestWithParam<SyncPolicy> {
 protected:
  BinlogOptions options() const { return {.file_bytes = 4096, .sync = GetParam()}; }
};

TEST_P(BinlogTags, SurviveARestart) {
  SimDisk disk;
  World world(disk, options());
  const JobId one = world.put({.tags = "try:1"});
  const JobId none = world.put();
  const JobId long_one = world.put({.tags = kLongest});
  world.end_turn();
  EXPECT_TRUE(world.close());
  const World again(disk, options(), world.wall());
  EXPECT_TRUE(again.binlog.replayed().is_sound()) << again.replay_text();
  EXPECT_EQ(tags_of_job(again, one), "try:1");
  EXPECT_EQ(tags_of_job(again, none), "");
  EXPECT_EQ(tags_of_job(again, long_one), kLongest);
}

// The jobs move when the first files are removed.
TEST_P(BinlogTags, MoveWithTheirJobs) {
  SimDisk disk;
  World world(disk, options());
  const JobId id = world.put({.tags = kLongest});
  const JobId buried = world.put({.tags = "try:9"});
  EXPECT_EQ(world.reserve(buried), Outcome::done);
  EXPECT_EQ(world.bury(buried), Outcome::done);
  for (int i = 0; i < 400 && world.binlog.numbers().oldest_index < 4; ++i) {
    EXPECT_EQ(world.delete_job(world.put({.body_bytes = 300, .tags = "try:2"})), Outcome::done);
    world.end_turn();
    disk.complete_syncs();
  }
  EXPECT_GE(world.binlog.numbers().oldest_index, 4U);
  world.idle();
  EXPECT_TRUE(world.close());
  const World again(disk, options(), world.wall());
  EXPECT_EQ(world.compare(again, world.binlog.records(), true), "") << again.replay_text();
  EXPECT_EQ(tags_of_job(again, id), kLongest);
  EXPECT_EQ(tags_of_job(again, buried), "try:9");
}

// A job that a put of its key has raised keeps its place, even when it is copied.
TEST_P(BinlogTags, KeysAreHeldAfterARestart) {
  for (const bool is_copied : {false, true}) {
    SimDisk disk;
    World world(disk, options());
    const JobId ready = world.put({.tags = "idp:ready"});
    const JobId delayed = world.put({.delay_s = 900, .tags = "con:lane idp:delayed"});
    const JobId first = world.put({.tags = "idp:first"});
    const JobId second = world.put({.tags = "idp:second"});
    for (const JobId id : {first, second}) {
      EXPECT_EQ(world.reserve(id), Outcome::done);
      EXPECT_EQ(world.bury(id), Outcome::done);
    }
    for (const char* tags : {"idp:ready", "idp:delayed", "idp:first"}) {
      EXPECT_EQ(world.try_put({.priority = 5, .tags = tags}), Outcome::duplicate);
      EXPECT_TRUE(world.engine.duplicate().is_raised);
      world.end_turn();
    }
    for (int i = 0; is_copied && i < 400 && world.binlog.numbers().oldest_index < 4; ++i) {
      EXPECT_EQ(world.delete_job(world.put({.body_bytes = 300, .tags = "idp:other"})),
                Outcome::done);
      world.end_turn();
      disk.complete_syncs();
    }
    world.idle();
    EXPECT_TRUE(world.close());
    World again(disk, options(), world.wall());
    EXPECT_EQ(world.compare(again, world.binlog.records(), true), "") << again.replay_text();
    for (const JobId id : {ready, delayed, first, second}) {
      const std::string tags(tags_of_job(again, id));
      EXPECT_EQ(again.try_put({.tags = tags}), Outcome::duplicate) << tags;
      EXPECT_EQ(again.engine.duplicate().job, again.engine.peek(id)) << tags;
      EXPECT_EQ(again.engine.jobs()[again.engine.peek(id)].priority, id == second ? 100U : 5U);
    }
    EXPECT_EQ(again.engine.find_tube("default")->first_buried, again.engine.peek(first));
    EXPECT_EQ(again.try_put({.tags = "idp:other"}), Outcome::done);
    again.engine.check_invariants();
  }
}

TEST_P(BinlogTags, AreRewrittenAfterAFailure) {
  for (const DiskCall call : {DiskCall::write, DiskCall::start_sync}) {
    if (call == DiskCall::start_sync && GetParam() == SyncPolicy::never) continue;
    SimDisk disk;
    World world(disk, options());
    world.put();
    world.idle();
    disk.inject({.call = call});
    const JobId id = world.put({.tags = kLongest});
    world.idle();
    EXPECT_GT(disk.faults_hit(), 0U);
    EXPECT_FALSE(world.binlog.numbers().refusing);
    EXPECT_TRUE(world.close());
    const World again(disk, options(), world.wall());
    EXPECT_EQ(tags_of_job(again, id), kLongest) << again.replay_text();
  }
}

TEST_P(BinlogTags, PrecedeALargeBody) {
  BinlogOptions large = options();
  large.large_body_bytes = 5000;
  large.slice_bytes = 1000;
  SimDisk disk;
  World world(disk, large);
  const JobId id = world.put({.body_bytes = 9000, .tags = kLongest});
  world.put();
  // Compaction moves it as well.
  for (int i = 0; i < 400 && world.binlog.numbers().oldest_index < 4; ++i) {
    EXPECT_EQ(world.delete_job(world.put({.body_bytes = 1000})), Outcome::done);
    world.idle(Duration::milliseconds(1));
  }
  EXPECT_GE(world.binlog.numbers().oldest_index, 4U);
  world.idle();
  EXPECT_TRUE(world.close());
  const World again(disk, large, world.wall());
  EXPECT_TRUE(again.binlog.replayed().is_sound()) << again.replay_text();
  EXPECT_EQ(world.compare(again, world.binlog.records(), true), "") << again.replay_text();
  EXPECT_EQ(tags_of_job(again, id), kLongest);
}

// A kick is in the sequence of records. A copy has a record of the facts, in front of a large body
// as well; a copy of a reserved job does not count its try, which has not ended.
TEST_P(BinlogTags, FactsMoveWithTheirJobs) {
  BinlogOptions large = options();
  large.large_body_bytes = 5000;
  large.slice_bytes = 1000;
  for (const bool is_copied : {false, true}) {
    SimDisk disk;
    World world(disk, large);
    const JobId small_job = world.put({.tags = "back:1"});
    const JobId large_job = world.put({.body_bytes = 9000, .tags = "try:9 back:1"});
    for (const JobId id : {small_job, large_job}) {
      for (int tries = 0; tries < 2; ++tries) {
        EXPECT_EQ(world.reserve(id), Outcome::done);
        EXPECT_EQ(world.release(id), Outcome::done);
      }
      EXPECT_EQ(world.kick_job(id), Outcome::done);
      EXPECT_EQ(world.reserve(id), Outcome::done);
      EXPECT_EQ(world.release(id), Outcome::done);
      world.end_turn();
    }
    EXPECT_EQ(world.reserve(small_job), Outcome::done);
    for (int i = 0; is_copied && i < 400 && world.binlog.numbers().oldest_index < 5; ++i) {
      EXPECT_EQ(world.delete_job(world.put({.body_bytes = 1000})), Outcome::done);
      world.idle(Duration::milliseconds(1));
    }
    EXPECT_TRUE(!is_copied || world.binlog.numbers().oldest_index >= 5);
    EXPECT_TRUE(world.close());
    World again(disk, large, world.wall());
    EXPECT_TRUE(again.binlog.replayed().is_sound()) << again.replay_text();
    again.binlog.check_invariants();
    for (const JobId id : {small_job, large_job}) {
      const JobRef ref = again.engine.peek(id);
      EXPECT_EQ(again.engine.jobs().facts(ref).tries_before, 2U) << id << is_copied;
      EXPECT_EQ(again.engine.jobs().counted(ref, JobEvent::reserve), 3U) << id << is_copied;
      EXPECT_EQ(again.reserve(id), Outcome::done);
      EXPECT_EQ(again.release(id), Outcome::done);
      EXPECT_EQ(again.engine.jobs()[ref].delay_s, 2U) << "the second try since the kick";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(With, BinlogTags, kEachSyncPolicy, name_of_policy);

// A flipped bit costs the tags but not the job, and is reported. All other jobs keep their tags.
TEST(BinlogTagsDamage, LosesTheTagsOfOneJob) {
  constexpr std::size_t kTextAt = kFirstRecordOffset + kNameLengthBytes + 27;
  for (const std::size_t at : {kTextAt, kTextAt + kShortRecordBytes}) {
    SimDisk disk;
    World world(disk, kSmallFiles);
    const JobId id = world.put({.tags = kLongest});
    const JobId other = world.put({.tags = "try:4"});
    world.end_turn();
    EXPECT_TRUE(world.close());
    disk.flip("binlog.1", at);
    const World again(disk, kSmallFiles, world.wall());
    EXPECT_FALSE(again.binlog.replayed().is_sound());
    EXPECT_EQ(again.binlog.replayed().records_lost, 1U);
    EXPECT_EQ(tags_of_job(again, id), "");
    EXPECT_EQ(tags_of_job(again, other), "try:4");
  }
}

// Tags never change. So if the last copy of a job has lost its tags, those of an older record are
// used.
TEST(BinlogTagsDamage, KeepsTheTagsOfAnOlderRecord) {
  SimDisk disk;
  World world(disk, kSmallFiles);
  const JobId id = world.put({.tags = "try:5"});
  world.put();  // It stays in the first file, and keeps that file.
  world.idle();
  disk.inject({.call = DiskCall::start_sync});
  EXPECT_EQ(world.reserve(id), Outcome::done);
  EXPECT_EQ(world.bury(id), Outcome::done);
  world.idle();  // Written in full to a new file, after the failure.
  ASSERT_TRUE(disk.has("binlog.2"));
  EXPECT_TRUE(world.close());
  disk.flip("binlog.2", kFirstRecordOffset + kNameLengthBytes + 27);
  const World again(disk, kSmallFiles, world.wall());
  EXPECT_EQ(again.binlog.replayed().records_lost, 1U) << again.replay_text();
  EXPECT_EQ(tags_of_job(again, id), "try:5");
}

// On a full disk each job with a limit of tries can be buried, for any content of the disk.
TEST(BinlogTries, BurialsSucceedOnAFullDisk) {
  SimDisk disk;
  disk.set_capacity(65536);
  World world(disk, kSmallFiles);
  std::vector<JobId> ids;
  while (true) {
    const JobId id = world.engine.next_id();
    if (world.try_put({.body_bytes = 40, .ttr_s = 1, .tags = "try:1"}) != Outcome::done) break;
    ids.push_back(id);
    world.end_turn();
  }
  ASSERT_GT(ids.size(), 50U);
  while (world.try_put({.body_bytes = 1}) == Outcome::done) world.end_turn();
  for (int round = 0; round < 3; ++round) {
    for (const JobId id : ids) ASSERT_EQ(world.reserve(id), Outcome::done);
    const std::uint64_t before = world.binlog.records();
    world.pass(Duration::seconds(2));
    EXPECT_EQ(world.engine.counts().buried, ids.size());
    EXPECT_EQ(world.binlog.records() - before, ids.size()) << "all at once, in round " << round;
    world.idle();
    EXPECT_FALSE(world.binlog.numbers().refusing);
  }
  EXPECT_TRUE(world.close());
  const World again(disk, kSmallFiles, world.wall());
  EXPECT_EQ(again.engine.counts().buried, ids.size()) << again.replay_text();
}

}  // namespace
}  // namespace haricot::binlog
