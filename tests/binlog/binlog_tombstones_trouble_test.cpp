// Keys that outlive their jobs on a full disk, after a kill in the middle of their records, and
// with damaged records.

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "binlog_world.hpp"
#include "haricot/base/job_tags.hpp"
#include "haricot/base/name_bytes.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/format/job_record.hpp"
#include "support/random.hpp"
#include "support/sanitized.hpp"

namespace haricot::binlog {
namespace {

// Returns tags with a key that stays for half a minute or a day. Each number has its own key.
std::string tags_of_key(std::uint64_t number, std::size_t key_bytes, bool is_short = false) {
  std::string key = std::to_string(number);
  if (key.size() < key_bytes) key.insert(0, key_bytes - key.size(), 'k');
  return "idp:" + key + (is_short ? ":30" : ":86400");
}

struct FullDisk {
  std::uint64_t capacity;
  std::uint64_t block_bytes;
  std::size_t key_bytes_max;
  std::size_t body_bytes_max;
  bool in_batches;
};

// Fills the disk with jobs. Every other job has a key that outlives it.
std::vector<JobId> fill_with_keys(World& world, test::Random& random, const FullDisk& full) {
  const std::vector<std::string> tubes = {"default", std::string(kTubeNameBytesMax, 't')};
  std::vector<JobId> ids;
  for (int refused = 0; refused < 20 && ids.size() < 20'000;) {
    EXPECT_TRUE(world.use(tubes[random.below(2)]));
    const JobId id = world.engine.next_id();
    std::string tags;
    if (random.one_in(2)) tags = tags_of_key(id, 1 + random.below(full.key_bytes_max));
    if (world.try_put({.body_bytes = random.below(full.body_bytes_max + 1), .tags = tags}) ==
        Outcome::done) {
      ids.push_back(id);
    } else {
      ++refused;
    }
    if (random.one_in(4)) world.end_turn();
  }
  world.idle(Duration::milliseconds(10));
  return ids;
}

class BinlogTombstonesFullDisk : public ::testing::TestWithParam<FullDisk> {};

// In any order and after any other work, each deletion is accepted and each key is kept.
TEST_P(BinlogTombstonesFullDisk, AcceptsEachDeletion) {
  const FullDisk& full = GetParam();
  test::Random random;
  constexpr int kRounds = test::kIsSanitized ? 3 : 12;
  for (int round = 0; round < kRounds; ++round) {
    SimDisk disk;
    disk.set_capacity(full.capacity);
    disk.set_block_bytes(full.block_bytes);
    BinlogOptions options = kSmallFiles;
    options.file_bytes = round % 3 == 0 ? 4096 : round % 3 == 1 ? 16384 : 10 * 1024 * 1024;
    World world(disk, options);
    std::vector<JobId> ids = fill_with_keys(world, random, full);
    ASSERT_GT(ids.size(), full.capacity / 4096);
    // Other work of clients takes room first.
    for (const JobId id : ids) {
      if (random.one_in(4)) (void)world.reserve(id);
      if (random.one_in(8)) (void)world.bury(id);
    }
    std::size_t tombstone = 0;
    while (!ids.empty()) {
      std::vector<JobId> some;
      for (std::uint64_t count = full.in_batches ? 1 + random.below(20) : 1;
           count > 0 && !ids.empty(); --count) {
        const std::size_t place = random.below(ids.size());
        some.push_back(ids[place]);
        ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(place));
      }
      for (const JobId id : some) {
        const std::string_view tags = world.engine.jobs().tags(world.engine.peek(id));
        tombstone += tags_in(tags).tombstone_s > 0;
      }
      const bool is_batch = some.size() > 1 && world.delete_batch(some).outcome == Outcome::done;
      for (const JobId id : some) {
        if (is_batch) break;
        ASSERT_EQ(world.delete_job(id), Outcome::done) << ids.size() << " are left";
      }
      if (random.one_in(3)) world.end_turn();
      if (random.one_in(20)) world.idle(Duration::milliseconds(10));
    }
    world.idle(Duration::milliseconds(100));
    EXPECT_FALSE(world.binlog.numbers().refusing);
    EXPECT_EQ(world.engine.jobs().tombstones(), tombstone);
    EXPECT_TRUE(world.close());
    disk.set_capacity(std::nullopt);
    const World again(disk, options, world.wall());
    EXPECT_EQ(world.compare(again, world.binlog.records(), true), "") << again.replay_text();
    EXPECT_EQ(again.engine.jobs().tombstones(), tombstone);
  }
}

// The rest of each file is too small for the next key.
TEST_P(BinlogTombstonesFullDisk, AcceptsEachDeletionIfMostOfAFileIsLost) {
  const FullDisk& full = GetParam();
  test::Random random;
  SimDisk disk;
  disk.set_capacity(full.capacity);
  disk.set_block_bytes(full.block_bytes);
  World world(disk, kSmallFiles);
  const std::string tube(kTubeNameBytesMax, 't');
  EXPECT_TRUE(world.use(tube));
  std::vector<JobId> plain;
  std::vector<JobId> keyed;
  for (int refused = 0; refused < 20;) {
    const JobId id = world.engine.next_id();
    const bool has_key = id % 40 == 0;
    const std::string tags = has_key ? tags_of_key(id, kKeyBytesMax) : std::string();
    if (world.try_put({.body_bytes = 0, .tags = tags}) == Outcome::done) {
      (has_key ? keyed : plain).push_back(id);
    } else {
      ++refused;
    }
    world.end_turn();
  }
  ASSERT_GT(keyed.size(), 2U);
  const auto take = [](std::vector<JobId>& ids) {
    const JobId id = ids.back();
    ids.pop_back();
    return id;
  };
  // A file of 4096 bytes takes 44 deletions. Such a key takes 7 records besides its deletion.
  while (!keyed.empty()) {
    for (int i = 0; i < 37 && !plain.empty(); ++i) {
      ASSERT_EQ(world.delete_job(take(plain)), Outcome::done);
    }
    ASSERT_EQ(world.delete_job(take(keyed)), Outcome::done) << keyed.size() << " are left";
    world.end_turn();
  }
  while (!plain.empty()) ASSERT_EQ(world.delete_job(take(plain)), Outcome::done);
  world.idle();
  EXPECT_FALSE(world.binlog.numbers().refusing);
}

INSTANTIATE_TEST_SUITE_P(With, BinlogTombstonesFullDisk,
                         ::testing::Values(FullDisk{65'536, 1, 100, 100, false},
                                           FullDisk{65'536, 4096, 20, 0, false},
                                           FullDisk{131'072, 4096, 100, 500, true},
                                           FullDisk{262'144, 512, 100, 1000, false},
                                           FullDisk{524'288, 4096, 40, 200, true}),
                         [](const ::testing::TestParamInfo<FullDisk>& full) {
                           return std::to_string(full.param.capacity / 1024) + "KiBInBlocksOf" +
                                  std::to_string(full.param.block_bytes);
                         });

// Position of the records of a deletion with its key: the parts of the key, then the deletion.
struct Ending {
  std::string file;
  std::uint64_t begin = 0;
  std::uint64_t deletion = 0;
  std::uint64_t end = 0;
};

// Three jobs: one with a key of seven records, which is deleted; one with a short key, deleted
// before it; and one that stays.
class BinlogTombstonesEnding : public ::testing::Test {
 protected:
  static constexpr std::size_t kParts = text_parts(kTombstoneTextBytesMax);

  BinlogTombstonesEnding() {
    disk_ = std::make_unique<SimDisk>();
    world_ = std::make_unique<World>(*disk_, options());
    before_ = world_->put({.tags = "idp:before:3600"});
    EXPECT_TRUE(world_->use(tube_));
    id_ = world_->put({.tags = tags_});
    living_ = world_->put({.tags = "idp:living:3600"});
    EXPECT_EQ(world_->delete_job(before_), Outcome::done);
    world_->end_turn();
    ending_.file = binlog_file_name(world_->binlog.numbers().current_index);
    ending_.begin = written();
    EXPECT_EQ(world_->delete_job(id_), Outcome::done);
    world_->end_turn();
    ending_.end = written();
    ending_.deletion = ending_.end - kShortRecordBytes;
    EXPECT_EQ(ending_.end - ending_.begin, (kParts + 1) * kShortRecordBytes);
  }

  BinlogOptions options() const { return {.file_bytes = 8192, .sync = SyncPolicy::every_turn}; }
  std::uint64_t written() const {
    const std::string bytes = disk_->bytes_of(ending_.file);
    const std::size_t last = bytes.find_last_not_of('\0');
    // Each record ends in its number, of which only the first byte is not zero here.
    return last == std::string::npos ? 0 : last + 3;
  }
  // Returns the disk as a kill would leave it.
  std::unique_ptr<SimDisk> killed() {
    return disk_->crash(random_, {Unsynced::kept, UnsyncedNames::kept});
  }
  // Checks the other two jobs.
  void expect_others(World& world) {
    EXPECT_EQ(holder(world, "idp:before", "default"), before_);
    EXPECT_EQ(world.engine.peek(before_), JobRef::none);
    EXPECT_EQ(holder(world, "idp:living", tube_), living_);
    EXPECT_NE(world.engine.peek(living_), JobRef::none);
  }
  // Returns the job that has the key of a put, deleted or not; 0: none.
  static JobId holder(World& world, std::string_view tags, std::string_view tube) {
    EXPECT_TRUE(world.use(tube));
    if (world.try_put({.tags = tags}) != Outcome::duplicate) return 0;
    return world.engine.jobs()[world.engine.duplicate().job].id;
  }
  std::string key_alone() const { return tags_.substr(0, tags_.rfind(':')); }

  test::Random random_;
  std::unique_ptr<SimDisk> disk_;
  std::unique_ptr<World> world_;
  const std::string tube_ = std::string(kTubeNameBytesMax, 't');
  const std::string tags_ = tags_of_key(0, kKeyBytesMax);
  JobId before_ = 0;
  JobId id_ = 0;
  JobId living_ = 0;
  Ending ending_;
};

// With some parts of the key but not the whole deletion, the job exists and has its key.
TEST_F(BinlogTombstonesEnding, APartialDeletionHasNotHappened) {
  for (std::uint64_t cut = ending_.begin; cut <= ending_.end; ++cut) {
    const auto disk = killed();
    if (cut < ending_.end) disk->zero(ending_.file, cut, ending_.end - cut);
    World again(*disk, options(), world_->wall());
    EXPECT_TRUE(again.binlog.replayed().is_sound()) << cut << "\n" << again.replay_text();
    const bool has_happened = cut == ending_.end;
    ASSERT_EQ(again.engine.peek(id_) == JobRef::none, has_happened || cut + 3 > ending_.end)
        << "cut at " << cut << " of " << ending_.end;
    EXPECT_EQ(holder(again, key_alone(), tube_), id_);
    expect_others(again);
    again.engine.check_invariants();
  }
}

// The server that finds the partial records continues to write. The parts of the key must not count
// together with later records.
TEST_F(BinlogTombstonesEnding, APartialDeletionIsForgotten) {
  for (std::uint64_t part = 0; part <= kParts; ++part) {
    const auto disk = killed();
    const std::uint64_t cut = ending_.begin + part * kShortRecordBytes;
    disk->zero(ending_.file, cut, ending_.end - cut);
    World again(*disk, options(), world_->wall());
    ASSERT_NE(again.engine.peek(id_), JobRef::none);
    // It has lost its key: a flush leaves none behind.
    EXPECT_TRUE(again.flush(tube_, {.ready = true, .delayed = true, .buried = true}));
    EXPECT_EQ(again.engine.peek(id_), JobRef::none);
    again.idle();
    EXPECT_TRUE(again.close());
    World third(*disk, options(), again.wall());
    EXPECT_EQ(again.compare(third, again.binlog.records(), true), "") << third.replay_text();
    EXPECT_EQ(holder(third, key_alone(), tube_), 0U);
  }
}

// The file with the job is removed later, while the file with the partial records still exists. The
// key must not count as one whose job was deleted long ago.
TEST(BinlogTombstonesCutOff, APartialKeyIsIgnoredAfterItsJobIsGone) {
  SimDisk disk;
  test::Random random;
  World world(disk, kSmallFiles);
  const JobId id = world.put({.tags = "idp:key:3600"});
  while (world.binlog.numbers().current_index == 1) {
    EXPECT_EQ(world.delete_job(world.put({.body_bytes = 500})), Outcome::done);
  }
  for (int i = 0; i < 3; ++i) world.put({.body_bytes = 700});
  world.idle(Duration::milliseconds(1));
  const std::string file = binlog_file_name(world.binlog.numbers().current_index);
  EXPECT_EQ(world.delete_job(id), Outcome::done);
  world.end_turn();
  const std::string bytes = disk.bytes_of(file);
  const std::size_t mark = bytes.find("KEPT");
  ASSERT_NE(mark, std::string::npos);
  const auto cut = disk.crash(random, {Unsynced::kept, UnsyncedNames::kept});
  const std::size_t deletion = mark - kNameLengthBytes - 8 + kShortRecordBytes;
  cut->zero(file, deletion, kShortRecordBytes);

  // With large files no job is moved. Files without jobs are still removed.
  BinlogOptions large = kSmallFiles;
  large.file_bytes = 1024 * 1024;
  World again(*cut, large, world.wall());
  ASSERT_NE(again.engine.peek(id), JobRef::none);
  EXPECT_EQ(again.engine.jobs().tombstones(), 0U);
  EXPECT_TRUE(again.use("other"));
  again.put();
  EXPECT_EQ(again.bury(id), Outcome::not_found);
  EXPECT_EQ(again.reserve(id), Outcome::done);
  EXPECT_EQ(again.bury(id), Outcome::done);
  EXPECT_TRUE(again.flush("default", {.ready = false, .delayed = false, .buried = true}));
  again.idle();
  ASSERT_FALSE(cut->has("binlog.1")) << "which has the job";
  ASSERT_TRUE(cut->has(file)) << "which has the key";
  EXPECT_TRUE(again.close());
  const World third(*cut, large, again.wall());
  EXPECT_EQ(third.engine.jobs().tombstones(), 0U);
  EXPECT_EQ(again.compare(third, again.binlog.records(), true), "") << third.replay_text();
}

// A flipped bit in the deletion loses it, and the job is unchanged. A flipped bit in a part of the
// key deletes the job and frees the key. All other jobs are intact.
TEST_F(BinlogTombstonesEnding, ADamagedDeletionLosesNoOtherJob) {
  for (std::uint64_t at = ending_.begin; at < ending_.end; ++at) {
    const auto disk = killed();
    disk->flip(ending_.file, at, static_cast<std::uint8_t>(1U << random_.below(8)));
    World again(*disk, options(), world_->wall());
    // The last record may look torn by a crash.
    const bool is_deletion = at >= ending_.deletion;
    EXPECT_EQ(again.binlog.replayed().is_sound(), is_deletion) << at << again.replay_text();
    EXPECT_EQ(again.binlog.replayed().records_lost, is_deletion ? 0U : 1U) << at;
    ASSERT_EQ(again.engine.peek(id_) == JobRef::none, !is_deletion) << at;
    EXPECT_EQ(holder(again, key_alone(), tube_), is_deletion ? id_ : 0) << at;
    expect_others(again);
    again.engine.check_invariants();
  }
}

// The key was moved and has no deletion behind it.
TEST_F(BinlogTombstonesEnding, ADamagedMovedKeyLosesOnlyItself) {
  EXPECT_TRUE(world_->use("default"));
  const std::uint64_t until = world_->binlog.numbers().current_index;
  for (int i = 0; i < 400 && world_->binlog.numbers().oldest_index <= until; ++i) {
    EXPECT_EQ(world_->delete_job(world_->put({.body_bytes = 900})), Outcome::done);
    world_->idle(Duration::milliseconds(1));
  }
  ASSERT_GT(world_->binlog.numbers().oldest_index, until);
  world_->idle();
  // Finds the mark in the block of each of its records.
  std::vector<std::pair<std::string, std::uint64_t>> marks;
  for (std::uint64_t n = world_->binlog.numbers().oldest_index;
       n <= world_->binlog.numbers().current_index; ++n) {
    const std::string name = binlog_file_name(n);
    const std::string bytes = disk_->bytes_of(name);
    for (std::size_t at = bytes.find("KEPA"); at != std::string::npos;
         at = bytes.find("KEPA", at + 1)) {
      marks.emplace_back(name, at);
    }
  }
  ASSERT_EQ(marks.size(), kParts + 1) << "those of the other key are one";
  for (const auto& [name, at] : marks) {
    const auto disk = killed();
    disk->flip(name, at + 20);
    World again(*disk, options(), world_->wall());
    EXPECT_FALSE(again.binlog.replayed().is_sound()) << again.replay_text();
    EXPECT_EQ(again.engine.peek(id_), JobRef::none);
    EXPECT_NE(again.engine.peek(living_), JobRef::none);
    const bool has_key = holder(again, key_alone(), tube_) == id_;
    const bool has_other = holder(again, "idp:before", "default") == before_;
    EXPECT_NE(has_key, has_other) << "one of them alone is lost";
  }
}

}  // namespace
}  // namespace haricot::binlog
