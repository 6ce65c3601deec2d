#include "haricot/binlog/write/refusal.hpp"

#include <gtest/gtest.h>

#include "binlog/parts_world.hpp"

namespace haricot::binlog {
namespace {

TEST(Refusal, AFailureReleasesAndTruncatesTheFile) {
  PartsWorld world;
  world.begin();
  world.put();
  world.settle();
  const std::uint64_t good = world.stream.writer().written().bytes;
  world.put();
  world.disk.inject({.call = DiskCall::write, .status = DiskStatus::full, .bytes_written = 50});
  world.stream.records().flush();
  EXPECT_TRUE(world.stream.refusal().is_on());
  EXPECT_EQ(world.stream.refusal().status(), JournalStatus::full);
  EXPECT_FALSE(world.stream.is_open());
  EXPECT_EQ(world.disk.bytes_of("binlog.1").size(), good);
  EXPECT_EQ(world.state.segments->newest().bytes, good);
  EXPECT_EQ(world.stream.progress().ids_at_risk().size(), 1U);
  EXPECT_EQ(world.stream.progress().doubtful(), 0U) << "the first attempt to recover comes at once";
  ASSERT_EQ(world.failures.size(), 1U);
  EXPECT_FALSE(world.failures[0].was_refusing);
  EXPECT_EQ(world.take_notices().size(), 1U);
}

TEST(Refusal, AFailureDuringARefusalFailsTheAnswersThatWait) {
  PartsWorld world;
  world.begin();
  world.put();
  world.stream.refusal().begin(DiskStatus::full, "write");
  EXPECT_EQ(world.stream.progress().doubtful(), 0U);
  world.disk.set_capacity(world.disk.used_bytes() + 1000);
  world.stream.refusal().begin(DiskStatus::failed, "write", "the reason");
  EXPECT_EQ(world.stream.refusal().status(), JournalStatus::failed);
  EXPECT_EQ(world.stream.refusal().why(), "the reason");
  EXPECT_EQ(world.stream.progress().doubtful(), 1U);
  ASSERT_EQ(world.failures.size(), 2U);
  EXPECT_TRUE(world.failures[1].was_refusing);
  EXPECT_EQ(world.failures[1].free_bytes, 1000U);
}

TEST(Refusal, AFailedTruncationIsRetried) {
  PartsWorld world;
  world.begin();
  world.put();
  world.settle();
  const std::uint64_t good = world.stream.writer().written().bytes;
  world.disk.inject({.call = DiskCall::truncate});
  world.stream.refusal().begin(DiskStatus::failed, "write");
  EXPECT_TRUE(world.state.segments->has_to_cut());
  EXPECT_EQ(world.state.segments->newest().cut_to, good);
}

TEST(Refusal, DoesNotTruncateASharedFile) {
  PartsWorld world;
  world.state.epoch = 7;
  world.begin();
  world.put();
  const std::uint64_t calls = world.disk.calls(DiskCall::truncate);
  world.stream.refusal().begin(DiskStatus::failed, "write");
  EXPECT_EQ(world.disk.calls(DiskCall::truncate), calls);
  EXPECT_FALSE(world.state.segments->has_to_cut());
}

TEST(Refusal, ItsEndAcceptsChangesAndEndsTheDoubt) {
  PartsWorld world;
  world.begin();
  world.settle();
  world.disk.set_sync_mode(SyncMode::when_told);
  world.pass(Duration::seconds(1));
  world.put();
  world.stream.records().flush();
  world.stream.syncs().request(true);
  const Instant first = world.state.now;
  world.pass(Duration::seconds(1));
  world.disk.complete_syncs(1, DiskStatus::failed);
  world.stream.syncs().take_ends();
  ASSERT_TRUE(world.stream.is_refusing());
  EXPECT_EQ(world.stream.state().oldest_unsynced(), first);
  world.stream.refusal().end();
  EXPECT_FALSE(world.stream.is_refusing());
  EXPECT_FALSE(world.stream.refusal().is_for_space());
  EXPECT_EQ(world.stream.state().oldest_unsynced(), Instant::never());
}

}  // namespace
}  // namespace haricot::binlog
