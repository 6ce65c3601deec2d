#include "haricot/binlog/write/large_bodies.hpp"
#include "haricot/binlog/format/file_identity.hpp"

#include <gtest/gtest.h>

#include "binlog/parts_world.hpp"

namespace haricot::binlog {
namespace {

using User = LargeBodies::User;

constexpr std::size_t kLargeBodyBytes = 6000;
constexpr std::size_t kNameBytes = 7;  // "default"

// Requests the body in each turn, like its user. Returns the number of turns; -1 if it was refused.
int write(PartsWorld& world, User user, const BlobRef& body) {
  for (int turns = 0; turns < 100; ++turns) {
    const JournalStatus status = world.bodies.write_ahead(user, body, kNameBytes, 0);
    if (status == JournalStatus::ok) return turns;
    if (status != JournalStatus::later) return -1;
    world.bodies.advance();
    world.stream.syncs().take_ends();
    world.bodies.end_turn(false);
  }
  return -1;
}

TEST(LargeBodies, AreWrittenOverTurnsAndBeginAFile) {
  PartsWorld world;
  world.begin();
  const JobRef small = world.put(100);
  const JobRef large = world.make_job(kLargeBodyBytes);
  const JournaledJob job = world.engine.journaled(large);
  const BlobRef body = world.bodies.body_of(job);
  ASSERT_TRUE(body);
  EXPECT_TRUE(world.bodies.is_large(body));
  EXPECT_FALSE(world.bodies.body_of(world.engine.journaled(small)));
  EXPECT_GE(write(world, User::put, body), 6) << "a slice a turn";
  ASSERT_TRUE(world.stream.records().prepare(0, 0));
  world.bodies.append(job);
  EXPECT_TRUE(world.bodies.is_none());
  EXPECT_EQ(world.stream.writer().number(), 2U);
  EXPECT_EQ(world.state.segments->of(large)->number, 2U);
  EXPECT_EQ(world.stream.progress().records(), 2U);
  world.settle();  // The sync of the file before,
  world.settle();  // then the sync of this one.
  EXPECT_EQ(world.stream.progress().safe(), 2U);
}

// Records after a large body wait for the sync of its file, so few such files are in line.
TEST(LargeBodies, PutsWaitWhileManySyncsAreInLine) {
  PartsWorld world;
  world.begin();
  world.disk.set_sync_mode(SyncMode::when_told);
  const auto put_large = [&] {
    const JobRef large = world.make_job(kLargeBodyBytes);
    const JournaledJob job = world.engine.journaled(large);
    if (write(world, User::put, world.bodies.body_of(job)) < 0) return false;
    EXPECT_TRUE(world.stream.records().prepare(0, 0));
    world.bodies.append(job);
    return true;
  };
  int puts = 0;
  while (puts < 20 && put_large()) ++puts;
  EXPECT_GE(puts, 2) << "the disk has something to do";
  EXPECT_LE(puts, 6);
  EXPECT_LE(world.stream.sync_line().length(), 8U);
  EXPECT_TRUE(world.bodies.is_none()) << "and what waits has taken no space";
  world.disk.complete_syncs(3);
  EXPECT_TRUE(put_large());
  // Compaction and recovery wait for their own syncs.
  const JobRef moved = world.make_job(kLargeBodyBytes);
  EXPECT_GE(write(world, User::compaction, world.bodies.body_of(world.engine.journaled(moved))), 6);
  while (world.stream.sync_line().length() > 0) {
    world.disk.complete_syncs();
    world.stream.syncs().take_ends();
  }
}

TEST(LargeBodies, AreGivenToUsersInTurn) {
  PartsWorld world;
  world.begin();
  const BlobRef first =
      world.bodies.body_of(world.engine.journaled(world.make_job(kLargeBodyBytes)));
  const BlobRef second =
      world.bodies.body_of(world.engine.journaled(world.make_job(kLargeBodyBytes)));
  EXPECT_EQ(world.bodies.write_ahead(User::put, first, kNameBytes, 0), JournalStatus::later);
  EXPECT_TRUE(world.bodies.is_busy());
  EXPECT_EQ(world.bodies.write_ahead(User::compaction, second, kNameBytes, 0),
            JournalStatus::later);
  world.bodies.drop_all();
  EXPECT_TRUE(world.bodies.is_none());
  EXPECT_TRUE(world.bodies.is_busy()) << "it is compaction's turn";
  EXPECT_EQ(world.bodies.write_ahead(User::put, first, kNameBytes, 0), JournalStatus::later);
  EXPECT_TRUE(world.bodies.is_none());
  EXPECT_GE(write(world, User::compaction, second), 6);
}

TEST(LargeBodies, UnrequestedBodiesAreDropped) {
  PartsWorld world;
  world.begin();
  const BlobRef body =
      world.bodies.body_of(world.engine.journaled(world.make_job(kLargeBodyBytes)));
  EXPECT_EQ(world.bodies.write_ahead(User::compaction, body, kNameBytes, 0), JournalStatus::later);
  world.bodies.end_turn(true);
  EXPECT_TRUE(world.bodies.is_for(body, kNameBytes));
  world.bodies.end_turn(true);
  EXPECT_FALSE(world.bodies.is_for(body, kNameBytes));
  world.bodies.drop_all();
  EXPECT_FALSE(world.disk.has(spare_name(LargeBody::kNumber)));
}

TEST(LargeBodies, AFailureRefusesOneUser) {
  for (const DiskStatus status : {DiskStatus::full, DiskStatus::failed}) {
    PartsWorld world;
    world.begin();
    const BlobRef body =
        world.bodies.body_of(world.engine.journaled(world.make_job(kLargeBodyBytes)));
    world.disk.inject({.call = DiskCall::create, .status = status});
    EXPECT_EQ(world.bodies.write_ahead(User::put, body, kNameBytes, 0),
              status == DiskStatus::full ? JournalStatus::full : JournalStatus::failed);
    EXPECT_FALSE(world.stream.is_refusing());
    EXPECT_EQ(world.state.notices.errors(), status == DiskStatus::full ? 0U : 1U);
    EXPECT_GE(write(world, User::put, body), 6);
  }
}

}  // namespace
}  // namespace haricot::binlog
