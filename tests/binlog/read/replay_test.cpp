#include "haricot/binlog/read/replay.hpp"
#include "haricot/queue/job.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "binlog/binlog_world.hpp"
#include "haricot/binlog/format/burial_stamp.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/format/job_record.hpp"
#include "support/log_maker.hpp"

namespace haricot::binlog {
namespace {

// Makes a folder of at least that many files, each with a few jobs, after a clean end.
void fill(SimDisk& disk, std::uint64_t files) {
  World world(disk, kSmallFiles);
  while (world.binlog.numbers().current_index < files) {
    world.put({.body_bytes = 1000});
    world.end_turn();
  }
  EXPECT_TRUE(world.close());
}

std::uint64_t jobs_in(SimDisk& disk) {
  const World world(disk, kSmallFiles, kWallBegin + 1);
  return world.engine.jobs().size();
}

TEST(Replay, ReadsAFileWithADamagedHead) {
  SimDisk disk;
  fill(disk, 5);
  const std::uint64_t jobs = jobs_in(disk);
  for (const char* name : {"binlog.1", "binlog.2", "binlog.3"}) {
    ASSERT_EQ(disk.sync_file(name), DiskStatus::ok);
  }
  for (const char* name : {"binlog.1", "binlog.2", "binlog.3"}) disk.zero(name, 0, 88);
  EXPECT_EQ(jobs_in(disk), jobs);
}

TEST(Replay, ReadsEachFileOfASoundFolderOnce) {
  SimDisk disk;
  fill(disk, 5);
  std::vector<std::string> names;
  ASSERT_EQ(disk.list(names), DiskStatus::ok);
  const auto files = std::count_if(names.begin(), names.end(), [](const std::string& name) {
    return binlog_file_number(name).has_value();
  });
  ASSERT_GT(files, 3);
  const std::uint64_t before = disk.calls(DiskCall::read);
  const World world(disk, kSmallFiles, kWallBegin + 1);
  EXPECT_TRUE(world.binlog.replayed().is_sound()) << world.replay_text();
  EXPECT_EQ(disk.calls(DiskCall::read) - before, static_cast<std::uint64_t>(files));
  // Each file but the first was announced while the one before it was read.
  std::vector<std::string> expected;
  for (std::uint64_t number = 2; number <= static_cast<std::uint64_t>(files); ++number) {
    expected.push_back(binlog_file_name(number));
  }
  EXPECT_EQ(disk.names_read_ahead(), expected);
}

TEST(Replay, RestoresNoJobFromAMarkerWithoutItsDeletion) {
  SimDisk disk;
  LogMaker log(1);
  const std::string body = "\r\n";
  Record marker = marker_of(41);
  marker.body = body;
  log.add(marker);
  disk.put("binlog.1", log.bytes());
  const World world(disk, kSmallFiles);
  EXPECT_EQ(world.engine.jobs().size(), 0U);
  EXPECT_EQ(world.engine.next_id(), 42U);
}

// A key without a deletion is written only after the deletion of its job. So if the job exists, its
// deletion was lost.
TEST(Replay, AJobWithAKeptKeyIsDeleted) {
  SimDisk disk;
  LogMaker log(1);
  for (const std::uint64_t id : {1U, 2U}) log.add(full_record(id, "default", "body\r\n"));
  TombstoneTextBytes bytes;
  const TombstoneText tombstone{kWallBegin + Duration::seconds(60).count(), 60, "key", "default"};
  const std::string text(write_tombstone(tombstone, bytes));
  for (std::size_t part = 0; part < text_parts(text.size()); ++part) {
    log.add(text_record(TextKind::tombstone_alone, 2, text, part));
  }
  disk.put("binlog.1", log.bytes());
  World world(disk, kSmallFiles);
  EXPECT_NE(world.engine.peek(1), JobRef::none);
  EXPECT_EQ(world.engine.peek(2), JobRef::none);
  EXPECT_EQ(world.engine.jobs().size(), 1U);
  EXPECT_EQ(world.engine.jobs().tombstones(), 1U);
  world.binlog.check_invariants();
  world.engine.check_invariants();
}

// No server writes such a key: its id belongs to no job.
TEST(Replay, SkipsAKeyWithoutAJob) {
  for (const std::uint64_t id : {std::uint64_t{0}, kJobIdLast + 1, kPseudoId}) {
    SimDisk disk;
    LogMaker log(1);
    log.add(full_record(1, "default", "body\r\n"));
    TombstoneTextBytes bytes;
    const TombstoneText tombstone{kWallBegin + Duration::seconds(60).count(), 60, "key", "default"};
    const std::string text(write_tombstone(tombstone, bytes));
    log.add(text_record(TextKind::tombstone_alone, id, text, 0));
    disk.put("binlog.1", log.bytes());
    const World world(disk, kSmallFiles);
    EXPECT_EQ(world.engine.jobs().size(), 1U);
    EXPECT_EQ(world.engine.jobs().tombstones(), 0U);
  }
}

// The first record of a delayed or buried job does not show whether the job had tags: its deadline,
// or its stamp, has the place of the mark. If a loss of power leaves a part of such a job, it is no
// job, and never one without its tags.
TEST(Replay, RestoresNoJobThatMayHaveLostItsTags) {
  int cuts = 0;
  for (std::size_t body_bytes = 1; body_bytes < 512; body_bytes += 20) {
    for (const RecordState state : {RecordState::delayed, RecordState::buried}) {
      LogMaker log(1);
      const std::string body = std::string(body_bytes, 'b') + "\r\n";
      log.add(full_record(1, "default", body));
      log.add(text_record(TextKind::tags, 2, "try:3", 0));
      Record record = full_record(2, "default", "body\r\n");
      record.state = state;
      record.deadline_at = state == RecordState::buried ? 1 : kWallBegin;
      log.add(record);
      const std::size_t begin = log.offsets()[1];
      const std::size_t sector = (begin / kSectorBytes + 1) * kSectorBytes;
      if (sector >= log.offsets()[2]) continue;
      ++cuts;
      for (std::size_t at = begin; at < sector; ++at) log.bytes()[at] = '\0';
      SimDisk disk;
      disk.put("binlog.1", log.bytes());
      const World world(disk, kSmallFiles);
      EXPECT_TRUE(world.binlog.replayed().is_sound()) << world.replay_text();
      EXPECT_NE(world.engine.peek(1), JobRef::none);
      EXPECT_EQ(world.engine.peek(2), JobRef::none);
    }
  }
  EXPECT_GT(cuts, 0);
}

std::string text_of_facts(std::uint32_t tries_before) {
  FactTextBytes bytes;
  return std::string(write_facts({.tries_before = tries_before}, bytes));
}

// Earlier versions write no facts when they copy a job, and skip those that they read. A copy with
// damaged facts is the same.
TEST(Replay, RestoresFactsOfTheLastRecordThatHasThem) {
  SimDisk disk;
  LogMaker log(1);
  const auto add = [&log](std::uint64_t id, std::uint32_t reserves, std::uint32_t kicks) {
    log.add(text_record(TextKind::tags, id, "back:5", 0));
    Record record = full_record(id, "default", "body\r\n");
    record.counts = {reserves, 0, 0, 0, kicks};
    return record;
  };
  Record record = add(1, 3, 1);
  log.add(text_record(TextKind::facts, 1, text_of_facts(2), 0));
  log.add(record);
  record = add(2, 9, 1);
  log.add(record);  // Nothing states its facts.
  record = add(1, 4, 1);
  log.add(record);
  record = add(3, 9, 2);
  log.add(text_record(TextKind::facts, 2, text_of_facts(8), 0));  // Those of another job.
  log.add(record);
  record = add(4, 9, 2);
  log.add(text_record(TextKind::facts, 4, text_of_facts(7) + "of a later version", 0));
  log.add(record);
  Record kick = add(5, 6, 0);
  log.add(kick);
  kick.tube_name = {};
  kick.body = {};
  kick.counts[4] = 1;
  log.add(kick);
  disk.put("binlog.1", log.bytes());
  const World world(disk, kSmallFiles);
  EXPECT_TRUE(world.binlog.replayed().is_sound()) << world.replay_text();
  const auto tries_before = [&world](JobId id) {
    return world.engine.jobs().facts(world.engine.peek(id)).tries_before;
  };
  EXPECT_EQ(tries_before(1), 2U);
  EXPECT_EQ(tries_before(2), 0U);
  EXPECT_EQ(tries_before(3), 0U);
  EXPECT_EQ(tries_before(4), 7U);
  EXPECT_EQ(tries_before(5), 6U);
  world.binlog.check_invariants();
}

// Earlier versions wrote the time of a burial as its stamp.
TEST(Replay, RestoresTheTimesOfBurialsOfEarlierVersions) {
  LogMaker log(1);
  std::int64_t stamp = kWallBegin - 30 * kSecondNs;
  for (JobId id = 1; id <= 20; ++id) {
    Record record = full_record(id, "default", "body\r\n");
    record.state = RecordState::buried;
    while (!burial_of(id, stamp) || burial_of(id, stamp)->cause != BurialCause::unknown) ++stamp;
    record.deadline_at = stamp;
    log.add(record);
    ++stamp;
  }
  SimDisk disk;
  disk.put("binlog.1", log.bytes());
  const World world(disk, kSmallFiles);
  JobId id = 0;
  for (JobRef ref = world.engine.find_tube("default")->first_buried; ref != JobRef::none;
       ref = static_cast<JobRef>(world.engine.jobs()[ref].links.second)) {
    EXPECT_EQ(world.engine.jobs()[ref].id, ++id) << "the order is that of the stamps";
    const Burial burial = world.engine.burial(ref);
    EXPECT_EQ(burial.cause, BurialCause::unknown);
    EXPECT_EQ((world.now - burial.since).whole_seconds(), 30U);
  }
  EXPECT_EQ(id, 20U);
}

TEST(Replay, RestoresTheCausesOfBurials) {
  SimDisk disk;
  World world(disk, kSmallFiles);
  const JobId by_client = world.put({});
  const JobId released = world.put({.tags = "try:1"});
  const JobId timed_out = world.put({.ttr_s = 1, .tags = "try:1"});
  for (const JobId id : {by_client, released, timed_out}) {
    EXPECT_EQ(world.reserve(id), Outcome::done);
  }
  EXPECT_EQ(world.bury(by_client), Outcome::done);
  EXPECT_EQ(world.release(released), Outcome::buried);
  world.pass(Duration::seconds(40));
  world.end_turn();
  EXPECT_TRUE(world.close());
  const World again(disk, kSmallFiles, world.wall());
  const auto burial = [&](JobId id) { return again.engine.burial(again.engine.peek(id)); };
  EXPECT_EQ(burial(by_client).cause, BurialCause::client);
  EXPECT_EQ(burial(released).cause, BurialCause::released);
  EXPECT_EQ(burial(timed_out).cause, BurialCause::timed_out);
  EXPECT_NEAR(static_cast<double>((again.now - burial(by_client).since).whole_seconds()), 40, 1.5);
}

TEST(Replay, ReadsSeveralTornBodiesTheSameAgain) {
  SimDisk disk;
  LogMaker log(1);
  const std::string body = std::string(400, 'b') + "\r\n";
  log.add(full_record(1, "default", "whole\r\n"));
  for (const std::uint64_t id : {2U, 1U, 3U}) log.add(full_record(id, "default", body));
  for (std::size_t i = 1; i < 4; ++i) log.bytes()[log.offsets()[i] + 300] ^= 1;
  disk.put("binlog.1", log.bytes());
  std::map<JobId, KnownJob> first;
  {
    const World world(disk, kSmallFiles);
    first = all_jobs(world.engine, world.wall_offset);
    EXPECT_EQ(first.size(), 1U);
  }
  const World again(disk, kSmallFiles);
  EXPECT_TRUE(all_jobs(again.engine, again.wall_offset) == first) << again.replay_text();
}

// While an older record shows that a job has no tags, the job lives in the file of that record. If
// that file were removed first, the next start would reject the partial record.
TEST(Replay, AJobLivesInItsOlderRecordIfTheNewerMayLackTags) {
  LogMaker older(1);
  older.add(full_record(2, "default", "body\r\n"));
  LogMaker newer(2, 0xfedcba0987654321);
  const std::string body = std::string(300, 'b') + "\r\n";
  for (const std::uint64_t id : {1U, 3U}) newer.add(full_record(id, "default", body));
  newer.add(full_record(2, "default", "body\r\n"));
  const std::size_t begin = newer.offsets()[1];
  ASSERT_LT(begin, kSectorBytes);
  ASSERT_GT(newer.offsets()[2], kSectorBytes);
  for (std::size_t at = begin; at < kSectorBytes; ++at) newer.bytes()[at] = '\0';
  SimDisk disk;
  disk.put("binlog.1", older.bytes());
  disk.put("binlog.2", newer.bytes());
  World world(disk, kSmallFiles);
  const std::vector<FileReport>& files = world.binlog.replayed().files;
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].live_jobs, 1U) << world.replay_text();
  EXPECT_EQ(files[1].live_jobs, 1U);
  EXPECT_NE(world.engine.peek(2), JobRef::none);
  world.binlog.check_invariants();
}

// `repair` refuses a file of an unknown version, too, so it is no remedy.
TEST(Replay, ReportsNoUnfitFileBesideAnUnknownVersion) {
  SimDisk disk;
  disk.put("binlog.02", "");
  const World unfit(disk, kSmallFiles, kWallBegin, true);
  EXPECT_NE(refusal_of(unfit.binlog.replayed().problems), "");
  disk.put("binlog.1", std::string("\x08\0\0\0", 4) + std::string(100, 'x'));
  const World unknown(disk, kSmallFiles, kWallBegin, true);
  EXPECT_EQ(unknown.error, "binlog.1 is of a version that is not known here");
  EXPECT_EQ(refusal_of(unknown.binlog.replayed().problems), "");
}

// After a loss of power, a file that a volume lists but does not find was being removed. If it is
// needed, no server may start without it. The volume may lose it after its ends were read, too.
TEST(Replay, ContinuesWithoutAMissingFileOnlyIfItIsNotNeeded) {
  for (const unsigned index : {0U, 1U, 2U, 3U}) {
    const bool is_needed = index % 2 != 0;
    const bool is_late = index >= 2;
    SimDisk disk;
    fill(disk, 5);
    const std::string oldest = disk.bytes_of("binlog.1");
    {
      World world(disk, kSmallFiles, kWallBegin + 1);
      for (JobId id = 1; world.binlog.numbers().oldest_index == 1; ++id) {
        EXPECT_EQ(world.delete_job(id), Outcome::done);
        world.idle();
      }
      EXPECT_TRUE(world.close());
    }
    ASSERT_FALSE(disk.has("binlog.1"));
    ASSERT_EQ(disk.sync_folder(), DiskStatus::ok);
    disk.put("binlog.1", oldest);
    std::vector<std::string> names;
    ASSERT_EQ(disk.list(names), DiskStatus::ok);
    const auto files = std::count_if(names.begin(), names.end(), binlog_file_number);
    const std::uint64_t reads_of_ends = is_late ? static_cast<std::uint64_t>(files) : 0;
    disk.inject({.nth = reads_of_ends + (is_needed ? 3U : 1U),
                 .call = DiskCall::read,
                 .takes_file_away = true});
    const World world(disk, kSmallFiles, kWallBegin + 2, true);
    EXPECT_EQ(world.is_open(), !is_needed) << world.error;
    const bool is_reported = world.error.find("though the folder lists it") != std::string::npos;
    EXPECT_EQ(is_reported, is_needed) << world.error;
    EXPECT_TRUE(is_needed || world.binlog.replayed().is_sound()) << world.replay_text();
  }
}

}  // namespace
}  // namespace haricot::binlog
