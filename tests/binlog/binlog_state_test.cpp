#include "haricot/binlog/binlog_state.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "binlog_world.hpp"
#include "haricot/base/job_tags.hpp"
#include "haricot/binlog/format/job_record.hpp"
#include "parts_world.hpp"
#include "support/sim_disk.hpp"

namespace haricot::binlog {
namespace {

class PromisesTest : public ::testing::Test {
 protected:
  JobRef add(std::string_view tags, Promise promise) {
    RestoredJob job{};
    job.id = ++last_id_;
    job.tags = tags;
    const JobRef ref = engine.restoring().restore(job, "default", {});
    promises.make(engine.journaled(ref), engine.jobs(), promise);
    return ref;
  }
  void end(JobRef ref) { promises.end(engine.journaled(ref), engine.jobs()); }
  JournalFields& note(JobRef ref) { return engine.jobs().journal_fields(ref); }
  std::uint64_t records() const { return promises.bytes() / kShortRecordBytes; }

  NotesOnly journal;
  Engine engine{Instant::at(1'000'000'000'000), journal};
  Promises promises;

 private:
  JobId last_id_ = 0;
};

TEST_F(PromisesTest, AJobIsPromisedItsDeletion) {
  EXPECT_EQ(promises.bytes(), 0U);
  const JobRef ref = add("", Promise::nothing);
  add("idp:key", Promise::nothing);
  EXPECT_EQ(promises.bytes(), 2 * kShortRecordBytes);
  end(ref);
  EXPECT_EQ(promises.bytes(), kShortRecordBytes);
}

TEST_F(PromisesTest, ABurialIsPromisedOnceAndEndsOnce) {
  const JobRef ref = add("try:1", Promise::burial);
  EXPECT_EQ(records(), 2U);
  promises.make_burial(note(ref));
  EXPECT_EQ(records(), 2U);
  promises.end_burial(note(ref));
  promises.end_burial(note(ref));
  EXPECT_EQ(records(), 1U);
  promises.make_burial(note(ref));
  EXPECT_EQ(records(), 2U);
  end(ref);
  EXPECT_EQ(records(), 0U);
}

TEST_F(PromisesTest, AKeyIsPromisedWithTheLossAtTheEndOfAFile) {
  const std::string key(kKeyBytesMax, 'k');
  const std::string tags = "idp:" + key + ":60";
  const std::uint64_t more =
      Promises::bytes_for({.tube_name_bytes = 7, .tombstone_key_bytes = key.size()});
  EXPECT_EQ(more, kShortRecordBytes + 2 * text_record_bytes(tombstone_text_bytes(kKeyBytesMax, 7)));
  const JobRef first = add(tags, Promise::nothing);
  EXPECT_EQ(promises.bytes(), more);
  // The room for losses at the ends of files does not grow with every key.
  for (int i = 0; i < 100; ++i) add(tags, Promise::nothing);
  EXPECT_LT(promises.bytes(), 90 * more);
  const std::uint64_t all = promises.bytes();
  end(first);
  EXPECT_LT(promises.bytes(), all);
}

TEST_F(PromisesTest, APutHasABoundOfItsPromises) {
  EXPECT_EQ(Promises::bytes_for({}), kShortRecordBytes);
  EXPECT_EQ(Promises::bytes_for({.may_be_buried = true}), 2 * kShortRecordBytes);
}

TEST_F(PromisesTest, AWrongSumEndsTheProgram) {
  const JobRef limited = add("try:1", Promise::burial);
  const JobRef key = add("idp:key:60", Promise::nothing);
  promises.check_invariants(engine);
  const auto check = [&] { promises.check_invariants(engine); };
  EXPECT_DEATH((promises.end_burial(note(limited)), check()), "may_be_buried");
  EXPECT_DEATH((note(key).has_burial_promised = 1, check()), "burials_ == burials");
  EXPECT_DEATH((end(key), check()), "deletions_ == jobs.size");
  const auto leave_key_out = [&] {
    promises.end(engine.journaled(key), engine.jobs());
    promises.make(engine.journaled(limited), engine.jobs(), Promise::nothing);
  };
  EXPECT_DEATH((leave_key_out(), check()), "tombstones_ == tombstones");
}

// After a start the sum is that of the restored jobs.
TEST(Promises, AreMadeAgainToRestoredJobs) {
  SimDisk disk;
  World world(disk, kSmallFiles);
  world.put();
  world.put({.tags = "idp:key:60 try:2"});
  const JobId buried = world.put({.tags = "try:1"});
  EXPECT_EQ(world.reserve(buried), Outcome::done);
  EXPECT_EQ(world.release(buried), Outcome::buried);
  world.delete_job(world.put({.tags = "idp:other:60"}));
  world.end_turn();
  EXPECT_TRUE(world.close());
  World again(disk, kSmallFiles, world.wall());
  ASSERT_EQ(again.engine.jobs().size(), 3U);
  again.binlog.check_invariants();
  EXPECT_EQ(again.kick_job(buried), Outcome::done);
  again.binlog.check_invariants();
  EXPECT_EQ(again.delete_job(buried), Outcome::done);
  again.binlog.check_invariants();
}

}  // namespace
}  // namespace haricot::binlog
