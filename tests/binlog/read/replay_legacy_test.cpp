// Files of beanstalkd: they are read as they are, and their jobs move to checked files over time.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "binlog/binlog_world.hpp"
#include "haricot/base/little_endian.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "support/log_maker.hpp"

namespace haricot::binlog {
namespace {

constexpr BinlogOptions kOptions{.file_bytes = 16384, .sync = SyncPolicy::every_turn};

std::string file_of_version(std::uint32_t version) {
  std::string file(kVersionBytes, '\0');
  store_little_endian(file.data(), version);
  return file;
}

template <typename T>
void append(std::string& to, T value) {
  char bytes[sizeof(T)];
  store_little_endian(bytes, static_cast<std::make_unsigned_t<T>>(value));
  to.append(bytes, sizeof bytes);
}

// Returns a record as beanstalkd writes it. Its padding has random content.
std::string v7(const Record& record) {
  std::string bytes(header_bytes(record.tube_name.size()), '\0');
  write_header(record, Position{123, 678, 90}, 0xdeadbeef, bytes.data());
  return bytes.append(record.body);
}

std::string v5(const Record& record) {
  std::string bytes;
  append(bytes, std::uint64_t{record.tube_name.size()});
  bytes += record.tube_name;
  append(bytes, record.id);
  append(bytes, record.priority);
  append(bytes, std::uint32_t{0});
  append(bytes, record.delay_ns / 1000);
  append(bytes, record.ttr_ns / 1000);
  append(bytes, record.body_bytes);
  append(bytes, std::uint32_t{0});
  append(bytes, record.created_at / 1000);
  append(bytes, record.deadline_at / 1000);
  for (const std::uint32_t count : record.counts) append(bytes, count);
  bytes += static_cast<char>(record.state);
  return bytes.append(record.body);
}

Record job(JobId id, std::string_view body, RecordState state = RecordState::ready) {
  Record record = full_record(id, "tube", body);
  record.created_at = kWallBegin - 100 * kSecondNs;
  record.deadline_at = kWallBegin + 3 * kSecondNs;
  record.state = state;
  return record;
}

// Returns a change of such a job. All its records have the same time of creation.
Record change(JobId id, RecordState state) {
  Record record = change_record(id, state);
  record.created_at = job(id, "").created_at;
  return record;
}

// Both versions store the same jobs.
class LegacyReplay : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  std::string begin() const { return file_of_version(GetParam()); }
  std::string bytes_of(const Record& record) const {
    return GetParam() == kVersion ? v7(record) : v5(record);
  }
};

TEST_P(LegacyReplay, RestoresJobsOfAllStates) {
  SimDisk disk;
  disk.put("binlog.1", begin() + bytes_of(job(5, "ready\r\n")) +
                           bytes_of(job(6, "delayed\r\n", RecordState::delayed)) +
                           bytes_of(job(7, "reserved\r\n", RecordState::reserved)) +
                           bytes_of(job(8, "buried\r\n", RecordState::buried)) +
                           bytes_of(job(9, "deleted\r\n")) +
                           bytes_of(change(9, RecordState::deleted)) + std::string(500, '\0'));
  World world(disk, kOptions);
  EXPECT_TRUE(world.binlog.replayed().is_sound()) << world.replay_text();
  const auto jobs = all_jobs(world.engine, world.wall_offset);
  ASSERT_EQ(jobs.size(), 4U);
  EXPECT_EQ(jobs.at(5).state, JobState::ready);
  EXPECT_EQ(jobs.at(6).state, JobState::delayed);
  EXPECT_EQ(jobs.at(6).deadline_at, kWallBegin + 3 * kSecondNs);
  EXPECT_EQ(jobs.at(7).state, JobState::ready);
  EXPECT_EQ(jobs.at(8).state, JobState::buried);
  EXPECT_EQ(jobs.at(5).priority, 35U);
  EXPECT_EQ(jobs.at(5).ttr_s, 60U);
  EXPECT_EQ(jobs.at(5).delay_s, 5U);
  EXPECT_EQ(jobs.at(5).created_at, kWallBegin - 100 * kSecondNs);
  EXPECT_EQ(jobs.at(5).counts, (std::array<std::uint64_t, 5>{1, 2, 3, 4, 5}));
  EXPECT_EQ(world.engine.jobs().body(world.engine.peek(5)), "ready");
  EXPECT_EQ(world.engine.next_id(), 10U);
}

TEST_P(LegacyReplay, KeepsTheOrderOfBuriedJobs) {
  SimDisk disk;
  std::string file = begin();
  for (const JobId id : {1U, 2U, 3U}) file += bytes_of(job(id, "\r\n"));
  for (const JobId id : {3U, 1U, 2U}) file += bytes_of(change(id, RecordState::buried));
  disk.put("binlog.1", file);
  World world(disk, kOptions);
  EXPECT_NE(world.engine.watch(world.client, "tube"), Outcome::out_of_memory);
  EXPECT_TRUE(world.use("tube"));
  for (const JobId id : {3U, 1U, 2U}) {
    const Burial burial = world.engine.burial(world.engine.peek(id));
    EXPECT_EQ(burial.cause, BurialCause::unknown);
    EXPECT_GE(burial.since + Duration::seconds(1), world.now) << "its time is unknown";
    EXPECT_EQ(world.kick(1).jobs, 1U);
    EXPECT_EQ(world.reserve(), id);
  }
}

TEST_P(LegacyReplay, ReadsChangesInALaterFileOfOurs) {
  SimDisk disk;
  disk.put("binlog.1", begin() + bytes_of(job(1, "a\r\n")) + bytes_of(job(2, "b\r\n")));
  {
    World world(disk, kOptions);
    EXPECT_EQ(world.delete_job(1), Outcome::done);
    EXPECT_EQ(world.reserve(2), Outcome::done);
    EXPECT_EQ(world.bury(2), Outcome::done);
    world.end_turn();
    EXPECT_TRUE(world.close());
  }
  EXPECT_TRUE(disk.has("binlog.1"));
  const World again(disk, kOptions, kWallBegin + 1);
  const auto jobs = all_jobs(again.engine, again.wall_offset);
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs.at(2).state, JobState::buried);
}

TEST_P(LegacyReplay, AFileGoesWithItsJobs) {
  SimDisk disk;
  disk.put("binlog.1", begin() + bytes_of(job(70, "a\r\n")));
  {
    World world(disk, kOptions);
    EXPECT_EQ(world.delete_job(70), Outcome::done);
    world.idle();
    EXPECT_FALSE(disk.has("binlog.1"));
    EXPECT_TRUE(world.close());
  }
  const World again(disk, kOptions, kWallBegin + 1);
  EXPECT_EQ(again.engine.next_id(), 71U);
}

// No sum proves such a record, and beanstalkd uses each id once.
TEST_P(LegacyReplay, ARecordOfAnotherJobWithTheSameIdIsReported) {
  Record other = job(1, "b\r\n");
  other.created_at += kSecondNs;
  for (const bool is_same : {true, false}) {
    SimDisk disk;
    disk.put("binlog.1",
             begin() + bytes_of(job(1, "a\r\n")) + bytes_of(is_same ? job(1, "a\r\n") : other));
    const World world(disk, kOptions);
    EXPECT_EQ(world.binlog.replayed().is_sound(), is_same) << world.replay_text();
    EXPECT_EQ(world.engine.jobs().size(), 1U);
  }
}

TEST_P(LegacyReplay, ATornEndIsRecognized) {
  const std::string whole = bytes_of(job(1, "first\r\n"));
  const std::string torn = bytes_of(job(2, "second\r\n"));
  for (std::size_t length = 0; length < torn.size(); ++length) {
    SimDisk disk;
    disk.put("binlog.1", begin() + whole + torn.substr(0, length));
    const World world(disk, kOptions);
    EXPECT_TRUE(world.binlog.replayed().is_sound()) << world.replay_text();
    EXPECT_EQ(world.engine.jobs().size(), 1U);
  }
}

TEST_P(LegacyReplay, UnreadableBytesInTheMiddleAreReported) {
  SimDisk disk;
  std::string file = begin() + bytes_of(job(1, "first\r\n"));
  const std::size_t damaged_at = file.size();
  file += std::string(200, 'x') + bytes_of(job(2, "second\r\n"));
  disk.put("binlog.1", file);
  disk.put("binlog.2", begin() + bytes_of(job(3, "third\r\n")));
  const World world(disk, kOptions);
  EXPECT_EQ(world.engine.jobs().size(), 3U);
  ASSERT_EQ(world.binlog.replayed().problems.size(), 3U) << world.replay_text();
  EXPECT_EQ(world.binlog.replayed().problems[1].kind, Problem::Kind::unproven);
  EXPECT_EQ(world.binlog.replayed().problems[2].kind, Problem::Kind::in_doubt);
  const std::string warning = world.binlog.replayed().warnings()[0];
  EXPECT_NE(warning.find("binlog.1"), std::string::npos) << warning;
  EXPECT_NE(warning.find(std::to_string(damaged_at)), std::string::npos) << warning;
  EXPECT_EQ(disk.bytes_of("binlog.1.damaged.1"), file);
}

INSTANTIATE_TEST_SUITE_P(Of, LegacyReplay, ::testing::Values(kVersion, kVersionOfBeanstalkd14),
                         [](const ::testing::TestParamInfo<std::uint32_t>& version) {
                           return "Version" + std::to_string(version.param);
                         });

// The first versions of haricotd stated neither the needed files nor the file before. So after such
// a server, the files that it no longer needed are unknown.
TEST(EarlyVersions, MayHaveRemovedOurFiles) {
  for (const bool tells : {false, true}) {
    SCOPED_TRACE(tells);
    SimDisk disk;
    std::uint64_t newest = 0;
    {
      World world(disk, kSmallFiles);
      while (world.binlog.numbers().current_index < 12) {
        world.put({.body_bytes = 600});
        world.end_turn();
      }
      newest = world.binlog.numbers().current_index;
      EXPECT_TRUE(world.close());
    }
    // The early version has written one job again, and all others were deleted.
    Signature signature;
    signature.file_number = newest + 1;
    signature.store_id = disk.folder_note().store_id;
    signature.salt = salt_of(signature.store_id, newest + 1);
    signature.next_id = 1000;
    signature.previous_bytes = disk.bytes_of(binlog_file_name(newest)).size();
    if (tells)
      signature.oldest_needed = signature.previous_number = static_cast<std::uint32_t>(newest);
    LogMaker maker(newest + 1, signature.salt);
    write_signature(signature, maker.bytes().data() + kVersionBytes);
    maker.add(job(7, "kept\r\n"));
    ASSERT_EQ(disk.sync_folder(), DiskStatus::ok);
    disk.put(binlog_file_name(newest + 1), maker.bytes());
    for (std::uint64_t number = 1; number <= newest; ++number) {
      EXPECT_EQ(disk.remove(binlog_file_name(number)), DiskStatus::ok);
    }
    {
      World world(disk, kSmallFiles, kWallBegin, tells);
      EXPECT_EQ(world.is_open(), !tells);
      if (tells) continue;  // The newest file states that it needs another.
      EXPECT_TRUE(world.binlog.replayed().is_sound()) << world.replay_text();
      EXPECT_EQ(world.engine.jobs().size(), 1U);
      EXPECT_NE(world.engine.peek(7), JobRef::none);
      EXPECT_TRUE(world.close());
    }
    const World again(disk, kSmallFiles);
    EXPECT_TRUE(again.binlog.replayed().is_sound()) << again.replay_text();
    EXPECT_EQ(again.engine.jobs().size(), 1U);
  }
}

}  // namespace
}  // namespace haricot::binlog
