// Keys that outlive their jobs, in records of their own in front of the deletion.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "binlog_world.hpp"
#include "full_disk.hpp"
#include "haricot/base/job_tags.hpp"
#include "haricot/base/name_bytes.hpp"
#include "haricot/binlog/format/job_record.hpp"

namespace haricot::binlog {
namespace {

// The longest key and name: seven records.
const std::string kKeyOfMostBytes(kKeyBytesMax, 'k');
const std::string kTubeOfLongName(kTubeNameBytesMax, 't');

// Returns the id of the deleted job whose key a put with these tags finds. Returns 0 if the key is
// free, and puts a job.
JobId kept_by(World& world, std::string_view tags, std::string_view tube = "default") {
  EXPECT_TRUE(world.use(tube));
  const Outcome outcome = world.try_put({.tags = tags});
  world.end_turn();
  if (outcome != Outcome::duplicate) {
    EXPECT_EQ(outcome, Outcome::done);
    return 0;
  }
  EXPECT_TRUE(world.engine.duplicate().is_deleted);
  return world.engine.jobs()[world.engine.duplicate().job].id;
}

JobId put_and_delete(World& world, std::string_view tags, std::string_view tube = "default") {
  EXPECT_TRUE(world.use(tube));
  const JobId id = world.put({.tags = tags});
  EXPECT_EQ(world.delete_job(id), Outcome::done);
  world.end_turn();
  return id;
}

// Makes garbage until the first files are removed.
void make_garbage(World& world) {
  EXPECT_TRUE(world.use("default"));
  const std::uint64_t until = world.binlog.numbers().current_index + 3;
  for (int i = 0; i < 800 && world.binlog.numbers().oldest_index < until; ++i) {
    EXPECT_EQ(world.delete_job(world.put({.body_bytes = 300})), Outcome::done);
    world.idle(Duration::milliseconds(1));
    world.disk.complete_syncs();
  }
  EXPECT_GE(world.binlog.numbers().oldest_index, until);
}

class BinlogTombstones : public ::testing::TestWithParam<SyncPolicy> {
 protected:
  BinlogOptions options() const { return {.file_bytes = 4096, .sync = GetParam()}; }
  SimDisk::Random chance_{7};
  // Returns the folder as the next server finds it, after checking that it is complete.
  std::unique_ptr<World> restart(World& world, Duration later = {}) {
    world.idle();
    EXPECT_TRUE(world.close());
    auto again = std::make_unique<World>(world.disk, options(), world.wall() + later.count());
    EXPECT_EQ(world.compare(*again, world.binlog.records(), true), "") << again->replay_text();
    EXPECT_TRUE(again->binlog.replayed().is_sound()) << again->replay_text();
    return again;
  }
};

TEST_P(BinlogTombstones, SurviveARestart) {
  SimDisk disk;
  World world(disk, options());
  const std::string longest = "idp:" + kKeyOfMostBytes + ":4294967295";
  const JobId one = put_and_delete(world, "idp:key:60");
  const JobId other = put_and_delete(world, "try:2 con:lane idp:key:70", "other");
  const JobId long_one = put_and_delete(world, longest, kTubeOfLongName);
  const JobId plain = put_and_delete(world, "idp:plain");
  EXPECT_NE(plain, 0U);
  const auto again = restart(world);
  EXPECT_EQ(again->engine.jobs().size(), 0U);
  EXPECT_EQ(kept_by(*again, "idp:key"), one);
  EXPECT_EQ(kept_by(*again, "idp:key:5", "other"), other);
  EXPECT_EQ(kept_by(*again, longest, kTubeOfLongName), long_one);
  EXPECT_EQ(kept_by(*again, "idp:plain"), 0U);
  EXPECT_EQ(kept_by(*again, "idp:key", "third"), 0U);
  // The third server finds them too, although the second one has not written them.
  const auto third = restart(*again);
  EXPECT_EQ(kept_by(*third, "idp:key"), one);
}

// The wall clock counts, even while the server does not run.
TEST_P(BinlogTombstones, ExpireOnTime) {
  for (const std::int64_t late_ns : {-1, 0}) {
    SimDisk disk;
    World world(disk, options());
    const JobId id = put_and_delete(world, "idp:key:60");
    const std::int64_t end = world.wall() + 60 * kSecondNs;
    const auto again = restart(world, Duration::nanoseconds(0));
    EXPECT_TRUE(again->close());
    World third(disk, options(), end + late_ns);
    EXPECT_EQ(third.engine.jobs().tombstones(), late_ns < 0 ? 1U : 0U);
    EXPECT_EQ(kept_by(third, "idp:key"), late_ns < 0 ? id : 0);
    third.pass(Duration::seconds(61));
    EXPECT_EQ(third.engine.jobs().tombstones(), 0U);
    third.end_turn();
  }
}

// If the clock was set back, no key stays longer than its time after the last start.
TEST_P(BinlogTombstones, ExpireOnTimeAfterAClockChange) {
  SimDisk disk;
  World world(disk, options());
  const JobId id = put_and_delete(world, "idp:key:60");
  world.idle();
  EXPECT_TRUE(world.close());
  for (int starts = 0; starts < 2; ++starts) {
    World once(disk, options(), kWallBegin - 900 * kSecondNs);
    once.pass(Duration::seconds(59));
    EXPECT_EQ(kept_by(once, "idp:key"), id);
    EXPECT_TRUE(once.close());
  }
  World again(disk, options(), kWallBegin - 900 * kSecondNs);
  EXPECT_EQ(kept_by(again, "idp:key"), id);
  again.pass(Duration::seconds(59));
  EXPECT_EQ(kept_by(again, "idp:key"), id);
  again.pass(Duration::seconds(2));
  EXPECT_EQ(kept_by(again, "idp:key"), 0U);
}

TEST_P(BinlogTombstones, MoveWhenTheirFileIsRemoved) {
  SimDisk disk;
  World world(disk, options());
  const std::string longest = "idp:" + kKeyOfMostBytes + ":3600";
  const JobId one = put_and_delete(world, "idp:key:3600");
  const JobId long_one = put_and_delete(world, longest, kTubeOfLongName);
  const JobId living = world.put({.tags = "idp:living:5"});
  for (int round = 0; round < 3; ++round) {
    make_garbage(world);
    const auto crashed = disk.crash(chance_, {Unsynced::kept, UnsyncedNames::kept});
    World again(*crashed, options(), world.wall());
    EXPECT_EQ(world.compare(again, world.binlog.records(), true), "") << again.replay_text();
  }
  EXPECT_GT(world.binlog.numbers().records_migrated, 0U);
  const auto again = restart(world);
  EXPECT_EQ(kept_by(*again, "idp:key"), one);
  EXPECT_EQ(kept_by(*again, longest, kTubeOfLongName), long_one);
  EXPECT_EQ(again->try_put({.tags = "idp:living"}), Outcome::duplicate);
  EXPECT_EQ(again->engine.duplicate().job, again->engine.peek(living));
}

// An expired key keeps no file.
TEST_P(BinlogTombstones, LeaveTheirFileWhenTheyExpire) {
  SimDisk disk;
  World world(disk, options());
  for (int i = 0; i < 30; ++i) {
    put_and_delete(world, "idp:key-" + std::to_string(i) + ":2");
  }
  EXPECT_GT(world.binlog.numbers().current_index, 1U);
  world.idle();
  EXPECT_EQ(world.engine.jobs().tombstones(), 0U);
  EXPECT_EQ(world.binlog.numbers().oldest_index, world.binlog.numbers().current_index);
  const auto again = restart(world);
  EXPECT_EQ(again->engine.jobs().tombstones(), 0U);
}

TEST_P(BinlogTombstones, AreRewrittenAfterAFailure) {
  for (const DiskCall call : {DiskCall::write, DiskCall::start_sync}) {
    if (call == DiskCall::start_sync && GetParam() == SyncPolicy::never) continue;
    SimDisk disk;
    World world(disk, options());
    const JobId id = world.put({.tags = "idp:key:600"});
    world.put();
    world.idle();
    disk.inject({.call = call});
    EXPECT_EQ(world.delete_job(id), Outcome::done);
    world.idle();
    EXPECT_GT(disk.faults_hit(), 0U);
    EXPECT_FALSE(world.binlog.numbers().refusing);
    const auto again = restart(world);
    EXPECT_EQ(kept_by(*again, "idp:key"), id);
  }
}

// If the key expires before the disk works again, only the deletion is written.
TEST_P(BinlogTombstones, AreNotRewrittenAfterTheyExpire) {
  SimDisk disk;
  World world(disk, options());
  const JobId id = world.put({.tags = "idp:key:3"});
  world.put();
  world.idle(Duration::milliseconds(10));
  disk.inject({.call = DiskCall::write, .lasts = true});
  EXPECT_EQ(world.delete_job(id), Outcome::done);
  world.idle(Duration::seconds(5));
  EXPECT_TRUE(world.binlog.numbers().refusing);
  EXPECT_EQ(world.engine.jobs().tombstones(), 0U);
  disk.clear_faults();
  world.idle();
  EXPECT_FALSE(world.binlog.numbers().refusing);
  const auto again = restart(world);
  EXPECT_EQ(again->engine.peek(id), JobRef::none);
  EXPECT_EQ(kept_by(*again, "idp:key"), 0U);
}

// All living jobs are written to new files, and so are all kept keys.
TEST_P(BinlogTombstones, SurviveTheLossOfTheFolder) {
  SimDisk disk;
  World world(disk, options());
  const JobId id = put_and_delete(world, "idp:key:3600");
  world.put({.body_bytes = 2000});
  world.put({.body_bytes = 2000});
  world.idle();
  const JobId later = put_and_delete(world, "idp:later:3600");
  world.idle();
  disk.set_folder(FolderState::replaced);
  for (int i = 0; i < 5; ++i) world.idle(Duration::seconds(2));
  EXPECT_FALSE(world.binlog.numbers().refusing);
  const auto again = restart(world);
  EXPECT_EQ(kept_by(*again, "idp:key"), id);
  EXPECT_EQ(kept_by(*again, "idp:later"), later);
}

// The deletions of a batch stand together, for any number of keys that they leave.
TEST_P(BinlogTombstones, ABatchIsRecordedAsOne) {
  SimDisk disk;
  BinlogOptions large = options();
  large.file_bytes = 352 * 1024;
  World world(disk, large);
  EXPECT_TRUE(world.use(kTubeOfLongName));
  // The maximum of one command; the records take twice the bytes of a file.
  constexpr std::size_t kJobs = 1000;
  std::vector<std::string> tags;
  for (std::size_t i = 0; i < kJobs; ++i) {
    const std::string number = std::to_string(i);
    tags.push_back("idp:" + std::string(kKeyBytesMax - number.size(), 'k') + number + ":3600");
  }
  std::vector<JobId> ids;
  for (const std::string& text : tags) ids.push_back(world.put({.tags = text}));
  world.idle();
  const std::uint64_t writes = disk.calls(DiskCall::write);
  const Ended result = world.delete_batch(ids);
  EXPECT_EQ(result.outcome, Outcome::done);
  EXPECT_EQ(result.jobs, kJobs);
  EXPECT_LE(disk.calls(DiskCall::write) - writes, 5U) << "the next file, and all of it at once";
  world.idle();
  EXPECT_TRUE(world.close());
  World again(disk, large, world.wall());
  EXPECT_EQ(world.compare(again, world.binlog.records(), true), "") << again.replay_text();
  EXPECT_EQ(again.engine.jobs().tombstones(), kJobs);
}

INSTANTIATE_TEST_SUITE_P(With, BinlogTombstones, kEachSyncPolicy, name_of_policy);

}  // namespace
}  // namespace haricot::binlog
