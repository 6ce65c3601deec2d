// Folders after a loss of power, which may lose any unsynced pages, in any order. Durable records
// are there, and lost ones do not count as damage.

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "binlog_world.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/format/job_record.hpp"
#include "haricot/binlog/read/file_scan.hpp"
#include "support/log_maker.hpp"

namespace haricot::binlog {
namespace {

constexpr std::uint64_t kStore = 99;

SimDisk::Random& chance() {
  static SimDisk::Random random(11);
  return random;
}

Signature signature_of(std::uint64_t number, std::uint32_t epoch) {
  return {.salt = salt_of(kStore, number),
          .next_id = 1,
          .file_number = number,
          .store_id = kStore,
          .run = run_of_epoch(epoch),
          .epoch = epoch,
          .oldest_needed = 1,
          .previous_number = static_cast<std::uint32_t>(number - 1)};
}

// Returns the signature of a file that was begun after that one.
Signature signature_after(const std::string& previous, std::uint64_t number, std::uint32_t epoch) {
  Signature signature = signature_of(number, epoch);
  FileScan scan = scan_of(previous, number - 1);
  scan.run_to_end();
  signature.previous_bytes = scan.accepted_bytes();
  signature.previous_records = scan.records();
  signature.previous_digest = scan.digest();
  return signature;
}

// Compaction ----------------------------------------------------------------------------------

// An earlier version recorded that a file of an earlier epoch is not needed, before the copies of
// its jobs were durable. The test varies the copies that the crash loses, and the file with that
// record.
class PowerCutWhileJobsAreMoved : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(PowerCutWhileJobsAreMoved, LosesNoJob) {
  const std::uint64_t teller = GetParam();
  for (std::size_t lost = 0; lost <= 3; ++lost) {
    SimDisk disk;
    LogMaker first(signature_of(1, 1));
    LogMaker second(signature_of(2, 2));
    for (const std::uint64_t id : {1U, 2U, 3U}) {
      first.add(full_record(id, "default", "body\r\n"));
      second.add(full_record(id, "default", "body\r\n"));
    }
    if (teller == 2) second.add(needed_from(2));
    LogMaker third(signature_after(second.bytes(), 3, 2));
    if (teller == 3) third.add(needed_from(2));
    third.add(full_record(4, "default", "body\r\n"));
    if (lost > 0) {
      const std::size_t begin = second.offsets()[lost - 1];
      const std::size_t end = lost < 3 ? second.offsets()[lost] : begin + 100;
      std::fill_n(second.bytes().begin() + static_cast<std::ptrdiff_t>(begin), end - begin, '\0');
    }
    disk.put("binlog.1", first.bytes());
    disk.put("binlog.2", second.bytes());
    disk.put("binlog.3", third.bytes());
    const World world(disk, kSmallFiles);
    EXPECT_EQ(world.engine.jobs().size(), 4U) << "lost " << lost << '\n' << world.replay_text();
    const FileReport& oldest = world.binlog.replayed().files.front();
    EXPECT_EQ(oldest.records_read, lost > 0 ? 3U : 0U) << "and it is not read without a reason";
  }
}

// Tags ----------------------------------------------------------------------------------------

void add_with_tags(LogMaker& log, std::uint64_t id, std::string_view tags) {
  for (std::size_t part = 0; part < text_parts(tags.size()); ++part) {
    log.add(text_record(TextKind::tags, id, tags, part));
  }
  log.add(full_record(id, "default", "body\r\n"));
}

enum class Mover : std::uint8_t { haricotd, beanstalkd };
class PowerCutOfTags : public ::testing::TestWithParam<Mover> {};

// An older file has the job with its tags. A later record of the job has none: the record of its
// tags is damaged, or beanstalkd has moved the job.
TEST_P(PowerCutOfTags, TagsOutliveTheirFile) {
  constexpr std::string_view kTags = "try:3 idp:a-key-of-more-than-one-record-0123456789";
  SimDisk disk;
  LogMaker first(signature_of(1, 1));
  add_with_tags(first, 1, kTags);
  LogMaker second(signature_of(2, 1));
  if (GetParam() == Mover::haricotd) {
    add_with_tags(second, 1, kTags);
    second.bytes()[second.offsets()[1] + 50] ^= 1;
  } else {
    second.add(full_record(1, "default", "body\r\n"));
    second.bytes().erase(kVersionBytes, kShortRecordBytes);
  }
  disk.put("binlog.1", first.bytes());
  disk.put("binlog.2", second.bytes());
  for (int start = 0; start < 4; ++start) {
    World world(disk, kSmallFiles, kWallBegin + start);
    const JobRef job = world.engine.peek(1);
    ASSERT_NE(job, JobRef::none) << world.replay_text();
    EXPECT_EQ(world.engine.jobs().tags(job), kTags) << "start " << start;
    EXPECT_EQ(world.try_put({.tags = "idp:a-key-of-more-than-one-record-0123456789"}),
              Outcome::duplicate);
    world.idle();
    // The last start but one moves all remaining jobs.
    const std::uint64_t until = start == 2 ? world.binlog.numbers().current_index : 1;
    for (int i = 0; i < 800 && world.binlog.numbers().oldest_index < until; ++i) {
      EXPECT_EQ(world.delete_job(world.put({.body_bytes = 300})), Outcome::done);
      world.idle(Duration::milliseconds(1));
    }
    EXPECT_GE(world.binlog.numbers().oldest_index, until);
    EXPECT_TRUE(world.close());
  }
}

INSTANTIATE_TEST_SUITE_P(MovedBy, PowerCutOfTags,
                         ::testing::Values(Mover::haricotd, Mover::beanstalkd));

// Files that follow each other ----------------------------------------------------------------

// Leaves a file with a seal, and the newest file, on the world's disk.
void rotate(World& world) {
  while (world.binlog.numbers().current_index < 2) {
    world.put({.body_bytes = 300});
    world.end_turn();
  }
}

TEST(PowerCut, TheLastSyncOfAFileCoversItsSeal) {
  SimDisk disk;
  World world(disk, kSmallFiles);
  rotate(world);
  EXPECT_NE(disk.bytes_of("binlog.1").find("SEAL"), std::string::npos);
  EXPECT_TRUE(disk.durable_bytes_of("binlog.1") == disk.bytes_of("binlog.1"));
}

// The crash tears the seal. All records are there.
TEST(PowerCut, ATornSealIsNoDamage) {
  bool is_cut = false;
  for (std::size_t body = 1; body < 512 && !is_cut; body += 40) {
    for (const bool front_is_lost : {true, false}) {
      SimDisk disk;
      World world(disk, kSmallFiles);
      world.put({.body_bytes = body});
      rotate(world);
      const auto crashed = disk.crash(chance(), {Unsynced::kept, UnsyncedNames::kept});
      const std::size_t end = crashed->bytes_of("binlog.1").size();
      const std::size_t begin = end - kShortRecordBytes;
      const std::size_t sector = (begin / kSectorBytes + 1) * kSectorBytes;
      if (sector >= end) continue;
      is_cut = true;
      crashed->zero("binlog.1", front_is_lost ? begin : sector,
                    front_is_lost ? sector - begin : end - sector);
      const World again(*crashed, kSmallFiles, world.wall());
      EXPECT_TRUE(again.binlog.replayed().is_sound()) << again.replay_text();
      EXPECT_EQ(again.binlog.replayed().problems.size(), 1U);
      EXPECT_EQ(world.compare(again, world.binlog.records(), true), "");
    }
  }
  EXPECT_TRUE(is_cut);
}

// A clean stop states that no work is under way. After a server that never syncs, that does not
// prove that anything is on the disk.
TEST(PowerCut, UnsyncedFilesAreDurableAfterTheNextStart) {
  SimDisk disk;
  BinlogOptions without_syncs = kSmallFiles;
  without_syncs.sync = SyncPolicy::never;
  World before(disk, without_syncs);
  const JobId id = before.put();
  ASSERT_TRUE(before.close());
  const World world(disk, kSmallFiles, before.wall());
  const auto crashed = disk.crash(chance(), {Unsynced::lost, UnsyncedNames::lost});
  const World again(*crashed, kSmallFiles, world.wall());
  EXPECT_NE(again.engine.peek(id), JobRef::none) << again.replay_text();
}

// Files that were begun in vain ---------------------------------------------------------------

// Numbers of images with a leftover of files without a durable record.
struct BegunInVain {
  int headless_first = 0;       // The oldest file has lost its head.
  int headless_behind_gap = 0;  // A file has lost its head, and the one before it its name.
  int empty_behind_gap = 0;     // A file has lost all bytes, and the one before it its name.
};

void count(const SimDisk& disk, std::uint64_t newest, BegunInVain& seen) {
  std::uint64_t before = 0;
  for (std::uint64_t number = 1; number <= newest; ++number) {
    if (!disk.has(binlog_file_name(number))) continue;
    const std::string bytes = disk.bytes_of(binlog_file_name(number));
    const bool is_empty = find_nonzero(bytes, 0) == bytes.size();
    const bool is_headless = !is_empty && has_lost_its_head(bytes);
    if (before == 0 && is_headless) ++seen.headless_first;
    if (before != 0 && before + 1 < number) {
      seen.headless_behind_gap += is_headless ? 1 : 0;
      seen.empty_behind_gap += is_empty ? 1 : 0;
    }
    before = number;
  }
}

class PowerCutOfBegunFiles : public ::testing::TestWithParam<bool> {};

// A server loses the power before anything is durable. The next one records something, so its note
// names a newer file, and is killed. The one after it has to read all files as the second one did.
TEST_P(PowerCutOfBegunFiles, LeavesNoDamageAfterALaterServer) {
  constexpr int kImages = 600;
  constexpr std::uint64_t kNewest = 4;
  const bool has_epochs = GetParam();
  SimDisk disk;
  World world(disk, kSmallFiles, kWallBegin, false, nullptr, has_epochs ? 1 : 0);
  disk.set_sync_mode(SyncMode::when_told);
  while (world.binlog.numbers().current_index < kNewest) {
    ASSERT_EQ(world.put_at_once({.body_bytes = 3000}), Outcome::done);
    world.end_turn();
  }
  BegunInVain seen;
  for (int image = 0; image < kImages && !HasFailure(); ++image) {
    SCOPED_TRACE("image " + std::to_string(image));
    auto left = disk.crash(chance());
    count(*left, kNewest, seen);
    JobId id = 0;
    {
      World next(*left, kSmallFiles, world.wall(), false, nullptr, has_epochs ? 2 : 0);
      EXPECT_TRUE(next.binlog.replayed().is_sound()) << next.replay_text();
      id = next.put();
      next.end_turn();
    }
    left = left->crash(chance());
    const World last(*left, kSmallFiles, world.wall(), false, nullptr, has_epochs ? 3 : 0);
    EXPECT_TRUE(last.binlog.replayed().is_sound()) << last.replay_text();
    EXPECT_NE(last.engine.peek(id), JobRef::none);
  }
  EXPECT_GT(seen.headless_first, 0);
  EXPECT_GT(seen.headless_behind_gap, 0);
  EXPECT_GT(seen.empty_behind_gap, 0);
}

INSTANTIATE_TEST_SUITE_P(WithEpochs, PowerCutOfBegunFiles, ::testing::Bool());

// Half a record ------------------------------------------------------------------------------

// Returns the offset of the last text record with that mark, if the record crosses the end of a
// sector.
std::optional<std::size_t> text_over_two_sectors(const std::string& bytes, std::string_view mark) {
  constexpr std::size_t kMarkOffset = 12;
  const std::size_t begin = bytes.rfind(mark) - kMarkOffset;
  const bool is_over = begin / kSectorBytes != (begin + kShortRecordBytes - 1) / kSectorBytes;
  return is_over ? std::optional(begin) : std::nullopt;
}

// Returns a disk after a loss of power that lost the first sector of the last text record. Null if
// the record does not cross the end of a sector.
std::unique_ptr<SimDisk> cut_text(SimDisk& disk, std::string_view mark) {
  auto crashed = disk.crash(chance(), {Unsynced::kept, UnsyncedNames::kept});
  const auto begin = text_over_two_sectors(crashed->bytes_of("binlog.1"), mark);
  if (!begin) return nullptr;
  crashed->zero("binlog.1", *begin, (*begin / kSectorBytes + 1) * kSectorBytes - *begin);
  return crashed;
}

TEST(PowerCut, AJobWithoutItsTagsWasNotPut) {
  int cuts = 0;
  for (std::size_t body = 1; body < 512; body += 20) {
    SimDisk disk;
    World world(disk, kSmallFiles);
    const JobId before = world.put({.body_bytes = body});
    world.idle();
    const JobId id = world.put({.tags = "idp:key try:3"});
    world.end_turn();
    const auto crashed = cut_text(disk, "TAGS");
    if (!crashed) continue;
    ++cuts;
    for (int start = 0; start < 2; ++start) {
      World again(*crashed, kSmallFiles, world.wall());
      EXPECT_TRUE(again.binlog.replayed().is_sound()) << again.replay_text();
      EXPECT_NE(again.engine.peek(before), JobRef::none);
      EXPECT_EQ(again.engine.peek(id), JobRef::none) << "start " << start;
      EXPECT_TRUE(again.close());
    }
  }
  EXPECT_GT(cuts, 0);
}

TEST(PowerCut, ADeletionWithoutItsKeyHasNotHappened) {
  int cuts = 0;
  for (std::size_t body = 1; body < 512; body += 20) {
    SimDisk disk;
    World world(disk, kSmallFiles);
    const JobId id = world.put({.body_bytes = body, .tags = "idp:key:100"});
    world.idle();
    EXPECT_EQ(world.delete_job(id), Outcome::done);
    world.end_turn();
    const auto crashed = cut_text(disk, "KEPT");
    if (!crashed) continue;
    ++cuts;
    for (int start = 0; start < 2; ++start) {
      World again(*crashed, kSmallFiles, world.wall());
      EXPECT_TRUE(again.binlog.replayed().is_sound()) << again.replay_text();
      EXPECT_NE(again.engine.peek(id), JobRef::none) << "start " << start;
      EXPECT_EQ(again.try_put({.tags = "idp:key:100"}), Outcome::duplicate);
      EXPECT_TRUE(again.close());
    }
  }
  EXPECT_GT(cuts, 0);
}

INSTANTIATE_TEST_SUITE_P(RecordedInFile, PowerCutWhileJobsAreMoved, ::testing::Values(2, 3));

}  // namespace
}  // namespace haricot::binlog
