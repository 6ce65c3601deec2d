#include "haricot/binlog/write/file_sequence.hpp"

#include <gtest/gtest.h>

#include <string>

#include "binlog/parts_world.hpp"
#include "haricot/binlog/format/job_record.hpp"
#include "haricot/binlog/read/file_scan.hpp"

namespace haricot::binlog {
namespace {

Signature signature_in(const SimDisk& disk, const std::string& name) {
  const auto signature = read_signature(disk.bytes_of(name).substr(kVersionBytes));
  EXPECT_TRUE(signature) << name;
  return signature.value_or(Signature{});
}

// Fills files until that one is begun.
void fill_files(PartsWorld& world, std::uint64_t until) {
  while (world.stream.is_open() && world.stream.writer().number() < until) world.put(500);
}

TEST(FileSequence, AFileThatCannotBeBegunDoesNotExist) {
  for (const bool takes_effect : {false, true}) {
    PartsWorld world;
    bool is_enough = false;
    ASSERT_TRUE(world.room.make_first_spare(is_enough));
    ASSERT_TRUE(world.room.prepare_spare(0));
    world.disk.inject({.call = DiskCall::rename, .takes_effect = takes_effect});
    EXPECT_FALSE(world.room.begin_file());
    EXPECT_TRUE(world.stream.is_refusing());
    EXPECT_TRUE(world.state.segments->empty());
    EXPECT_EQ(world.stream.files().unsure_number(), 1U);
    EXPECT_EQ(world.stream.files().next_number(), 1U);
    EXPECT_FALSE(world.disk.has("binlog.1"));
    EXPECT_EQ(world.disk.open_files(), 0U);
  }
}

TEST(FileSequence, ContinuesAfterTheFilesThatWereRead) {
  PartsWorld world;
  FileSequence::Start start;
  start.number = 9;
  start.is_unsure = true;
  world.stream.files().start_from(start);
  EXPECT_EQ(world.stream.files().unsure_number(), 9U);
  EXPECT_EQ(world.stream.state().oldest_needed(), 0U);
  world.begin();
  EXPECT_EQ(world.stream.writer().number(), 9U);
  EXPECT_EQ(world.stream.state().oldest_needed(), 9U);
  EXPECT_EQ(world.stream.files().next_number(), 10U);
  const WrittenPoint end = world.stream.files().end_cleanly();
  EXPECT_EQ(end.records, 0U);
  EXPECT_FALSE(world.stream.is_open());
}

TEST(FileSequence, ASignatureStatesTheEndOfTheFileBefore) {
  PartsWorld world;
  FileSequence::Start start;
  start.number = 5;
  world.stream.files().start_from(start);
  world.begin();
  fill_files(world, 6);
  world.settle();
  const Signature first = signature_in(world.disk, "binlog.5");
  EXPECT_EQ(first.previous_number, 0U);
  EXPECT_EQ(first.previous_bytes, 0U);
  const Signature second = signature_in(world.disk, "binlog.6");
  EXPECT_EQ(second.previous_number, 5U);
  EXPECT_EQ(second.previous_bytes, world.state.segments->at(0).bytes);
  EXPECT_GT(second.previous_records, 0U);
}

TEST(FileSequence, TheFirstFileStatesTheEndThatTheStartHasRead) {
  for (const bool is_in_doubt : {false, true}) {
    PartsWorld world;
    world.state.segments->add(4);
    FileSequence::Start start;
    start.number = 5;
    start.previous = WrittenPoint{900, 7, 42};
    start.previous_number = 4;
    world.stream.files().start_from(start);
    if (is_in_doubt) world.stream.refusal().begin(DiskStatus::failed, "write");
    world.begin();
    const Signature first = signature_in(world.disk, "binlog.5");
    EXPECT_EQ(first.previous_number, 4U);
    EXPECT_EQ(first.previous_bytes, is_in_doubt ? 0U : 900U);
    EXPECT_EQ(first.previous_records, is_in_doubt ? 0U : 7U);
    EXPECT_EQ(first.previous_digest, is_in_doubt ? 0U : 42U);
  }
}

TEST(FileSequence, NoSealNamesANextFileThatDoesNotExist) {
  PartsWorld world;
  world.begin();
  world.put(2000);
  world.disk.inject({.call = DiskCall::rename});
  const JobRef ref = world.make_job(2000);
  const JournaledJob job = world.engine.journaled(ref);
  EXPECT_EQ(world.room.make_room(full_record_bytes(job, world.engine.jobs()), 0),
            JournalStatus::failed);
  EXPECT_TRUE(world.stream.is_refusing());
  EXPECT_FALSE(world.disk.has("binlog.2"));
  const std::string bytes = world.disk.bytes_of("binlog.1");
  FileScan scan(bytes, identify(bytes, {.number = 1}));
  scan.run_to_end();
  EXPECT_EQ(scan.records(), 1U);
  EXPECT_FALSE(scan.seal());
}

TEST(FileSequence, APartialRecordIsCutOffWhenNoSyncIsUnderWay) {
  PartsWorld world;
  world.begin();
  world.put();
  world.settle();
  const std::uint64_t good = world.stream.writer().written().bytes;
  world.put();
  world.disk.inject({.call = DiskCall::write, .bytes_written = 50});
  world.disk.inject({.call = DiskCall::truncate});
  world.stream.records().flush();
  ASSERT_TRUE(world.stream.is_refusing());
  EXPECT_GT(world.disk.bytes_of("binlog.1").size(), good);
  world.disk.set_sync_mode(SyncMode::when_told);
  world.stream.sync_line().sync_folder();
  world.stream.files().cut_back();
  EXPECT_GT(world.disk.bytes_of("binlog.1").size(), good) << "a sync is under way";
  world.disk.complete_syncs();
  world.stream.syncs().take_ends();
  world.disk.inject({.call = DiskCall::open_existing});
  world.stream.files().cut_back();
  EXPECT_GT(world.disk.bytes_of("binlog.1").size(), good) << "the file could not be opened";
  world.stream.files().cut_back();
  EXPECT_EQ(world.disk.bytes_of("binlog.1").size(), good);
  EXPECT_FALSE(world.state.segments->has_to_cut());
}

}  // namespace
}  // namespace haricot::binlog
