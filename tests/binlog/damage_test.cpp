// Damaged folders: each damage is reported, and all whole records are read.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "binlog_world.hpp"
#include "haricot/base/little_endian.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "support/log_maker.hpp"
#include "support/sanitized.hpp"

namespace haricot::binlog {
namespace {

// A folder of three small files without duplicate records: a job whose record is damaged is lost,
// and all others are not.
class DamagedFolder : public ::testing::Test {
 protected:
  DamagedFolder() {
    SimDisk disk;
    World world(disk, kSmallFiles);
    while (world.binlog.numbers().current_index < 3 || world.engine.jobs().size() % 5 != 4) {
      const JobId id = world.put({.body_bytes = 600});
      // Some of the jobs have changes, in the same file or in a later one.
      const bool has_change = id % 3 == 0;
      EXPECT_TRUE(!has_change || world.reserve(id - 1) == Outcome::done);
      EXPECT_TRUE(!has_change || world.bury(id - 1, 77) == Outcome::done);
      world.end_turn();
    }
    EXPECT_TRUE(world.close());
    jobs_ = all_jobs(world.engine, world.wall_offset);
    next_id_ = world.engine.next_id();
    for (std::uint64_t n = 1; n <= 3; ++n)
      files_[binlog_file_name(n)] = disk.bytes_of(binlog_file_name(n));
  }

  std::unique_ptr<SimDisk> folder() const {
    auto disk = std::make_unique<SimDisk>();
    for (const auto& [name, bytes] : files_) disk->put(name, bytes);
    return disk;
  }

  // Opens a damaged folder twice and checks the facts that hold for every kind of damage.
  struct Found {
    std::size_t jobs = 0;
    bool is_reported = false;
  };
  Found open(SimDisk& disk, const std::string& damaged) {
    const std::string before = disk.bytes_of(damaged);
    Found found;
    std::map<JobId, KnownJob> first;
    {
      World world(disk, kSmallFiles, kWallBegin + 1'000'000'000);
      first = all_jobs(world.engine, world.wall_offset);
      found.jobs = first.size();
      const ReplayReport& report = world.binlog.replayed();
      found.is_reported = !report.is_sound();
      for (const auto& [id, job] : first) {
        const auto known = jobs_.find(id);
        if (known == jobs_.end()) {
          ADD_FAILURE() << "job " << id << " was never there";
          continue;
        }
        EXPECT_EQ(job.body_bytes, known->second.body_bytes);
        EXPECT_EQ(world.engine.jobs().body(world.engine.peek(id)), body_for(id, job.body_bytes));
      }
      for (const std::string& warning : report.warnings()) {
        EXPECT_NE(warning.find(damaged), std::string::npos) << warning;
      }
      const bool has_copy = disk.has(damaged + ".damaged.1");
      EXPECT_TRUE(!has_copy || disk.bytes_of(damaged + ".damaged.1") ==
                                   before.substr(0, before.find_last_not_of('\0') + 1));
      // Unreadable data is kept under some name. Zeros need no copy.
      const bool is_zero = before.find_first_not_of('\0', kVersionBytes) == std::string::npos;
      const bool is_aside = disk.has(damaged + ".aside.1");
      EXPECT_EQ(has_copy || is_aside, found.is_reported && !(is_zero && !has_copy))
          << world.replay_text();
      // The file itself is unchanged, unless it is empty: the next file replaces an empty one.
      EXPECT_TRUE(is_aside || disk.bytes_of(damaged) == before || report.files.back().records == 0);
      EXPECT_TRUE(world.close());
    }
    World again(disk, kSmallFiles, kWallBegin + 1'000'000'000);
    EXPECT_TRUE(all_jobs(again.engine, again.wall_offset) == first) << again.replay_text();
    return found;
  }

  std::map<JobId, KnownJob> jobs_;
  JobId next_id_ = 0;
  std::map<std::string, std::string> files_;
};

TEST_F(DamagedFolder, IsSoundWithoutDamage) {
  const auto folder_disk = folder();
  SimDisk& disk = *folder_disk;
  const Found found = open(disk, "binlog.1");
  EXPECT_EQ(found.jobs, jobs_.size());
  EXPECT_FALSE(found.is_reported);
}

// Bytes between two places of a sweep.
constexpr std::size_t kStep = test::kIsSanitized ? 7 : 1;

TEST_F(DamagedFolder, LosesAtMostOneJobPerByteAndReportsIt) {
  for (const auto& [name, bytes] : files_) {
    std::size_t unreported = 0;
    for (std::size_t offset = 0; offset < bytes.size() && !HasFailure(); offset += kStep) {
      SCOPED_TRACE(name + " at " + std::to_string(offset));
      const auto folder_disk = folder();
      SimDisk& disk = *folder_disk;
      disk.flip(name, offset, static_cast<std::uint8_t>(1U << offset % 8));
      const Found found = open(disk, name);
      EXPECT_GE(found.jobs + 1, jobs_.size());
      EXPECT_TRUE(found.is_reported || found.jobs == jobs_.size());
      unreported += !found.is_reported;
    }
    // Only damage of the seal may go unreported, because the seal states nothing new.
    EXPECT_LE(unreported, kShortRecordBytes) << name;
  }
}

TEST_F(DamagedFolder, LosesTheJobsOfASectorAndReportsIt) {
  for (const auto& [name, bytes] : files_) {
    for (std::size_t offset = 0; offset < bytes.size() && !HasFailure(); offset += kSectorBytes) {
      SCOPED_TRACE(name + " at " + std::to_string(offset));
      const auto folder_disk = folder();
      SimDisk& disk = *folder_disk;
      disk.zero(name, offset, std::min<std::size_t>(kSectorBytes, bytes.size() - offset));
      const Found found = open(disk, name);
      // Records have 600 bytes and more, so a sector has parts of two at most.
      EXPECT_GE(found.jobs + 2, jobs_.size());
      const bool only_end = name == "binlog.3" && offset + kSectorBytes >= bytes.size();
      EXPECT_TRUE(found.is_reported || only_end);
    }
  }
}

TEST_F(DamagedFolder, IsReadUpToTheEndOfATruncatedFile) {
  for (const auto& [name, bytes] : files_) {
    for (std::size_t length = 0; length <= bytes.size() && !HasFailure(); length += kStep) {
      SCOPED_TRACE(name + " cut to " + std::to_string(length));
      const auto folder_disk = folder();
      SimDisk& disk = *folder_disk;
      disk.put(name, bytes.substr(0, length));
      const Found found = open(disk, name);
      const bool is_last = name == "binlog.3";
      // Without a next file, nothing states the end of this one.
      EXPECT_TRUE(found.is_reported || is_last || found.jobs == jobs_.size());
    }
  }
}

TEST_F(DamagedFolder, ReadsAFileWithoutItsFirstSectorByTheFoldersId) {
  for (const auto& [name, bytes] : files_) {
    const auto folder_disk = folder();
    SimDisk& disk = *folder_disk;
    disk.zero(name, 0, kFirstRecordOffset);
    const Found found = open(disk, name);
    EXPECT_EQ(found.jobs, jobs_.size()) << name;
    EXPECT_TRUE(found.is_reported);
  }
}

TEST_F(DamagedFolder, ReusesNoId) {
  for (const auto& [name, bytes] : files_) {
    for (std::size_t offset = 0; offset < bytes.size(); offset += kSectorBytes) {
      const auto folder_disk = folder();
      SimDisk& disk = *folder_disk;
      disk.zero(name, offset, std::min<std::size_t>(kSectorBytes, bytes.size() - offset));
      const World world(disk, kSmallFiles, kWallBegin + 1);
      EXPECT_TRUE(name == "binlog.3" || world.engine.next_id() == next_id_);
    }
  }
}

// Expects that a server refuses the folder with these sentences, and changes nothing.
void expect_refused(SimDisk& disk, const std::vector<std::string>& sentences) {
  const World world(disk, kSmallFiles, kWallBegin + 1, true);
  EXPECT_FALSE(world.is_open());
  std::vector<std::string> told;
  for (const Problem& problem : world.binlog.replayed().problems) {
    if (problem.kind == Problem::Kind::unfit) told.push_back(to_sentence(problem));
  }
  EXPECT_EQ(told, sentences);
  for (const DiskCall call : {DiskCall::create, DiskCall::write, DiskCall::rename, DiskCall::remove,
                              DiskCall::truncate}) {
    EXPECT_EQ(disk.calls(call), 0U);
  }
}

TEST_F(DamagedFolder, WithoutAnyHeadIsRefused) {
  const auto folder_disk = folder();
  for (const auto& [name, bytes] : files_) folder_disk->zero(name, 0, 100);
  expect_refused(*folder_disk, {"binlog.1 does not state which file it is",
                                "binlog.2 does not state which file it is",
                                "binlog.3 does not state which file it is"});
}

TEST_F(DamagedFolder, AnUnknownVersionIsNotTouched) {
  for (const auto& [name, bytes] : files_) {
    const auto folder_disk = folder();
    SimDisk& disk = *folder_disk;
    std::string other = bytes;
    store_little_endian(other.data(), std::uint32_t{8});
    other[kVersionBytes + 20] ^= 1;  // Any bytes after the version.
    other.resize(300, 'x');
    std::fill(other.begin() + 8, other.end(), 'x');
    disk.put(name, other);
    const auto before = disk.calls(DiskCall::create) + disk.calls(DiskCall::remove);
    const World world(disk, kSmallFiles, kWallBegin + 1, true);
    EXPECT_FALSE(world.is_open());
    EXPECT_NE(world.error.find(name), std::string::npos) << world.error;
    EXPECT_EQ(disk.calls(DiskCall::create) + disk.calls(DiskCall::remove), before);
    EXPECT_EQ(disk.calls(DiskCall::write) + disk.calls(DiskCall::rename), 0U);
    EXPECT_EQ(disk.bytes_of(name), other);
  }
}

TEST_F(DamagedFolder, WithoutAFileThatIsNeededIsRefused) {
  for (const auto& [name, bytes] : files_) {
    const auto folder_disk = folder();
    SimDisk& disk = *folder_disk;
    disk.take_away(name);
    if (name == "binlog.3") {
      // Nothing states that it had a record.
      const World world(disk, kSmallFiles, kWallBegin + 1);
      EXPECT_FALSE(world.binlog.replayed().is_sound());
      EXPECT_GT(world.engine.next_id(), next_id_);
    } else {
      expect_refused(disk, {name + " is missing"});
    }
  }
}

TEST_F(DamagedFolder, AcceptsNoRecordFromAnotherPlace) {
  // Inserts a stale sector of an older file, and a record that stands twice or elsewhere.
  const std::string& first = files_["binlog.1"];
  for (std::size_t offset = 0; offset + kSectorBytes <= first.size(); offset += kSectorBytes) {
    const auto folder_disk = folder();
    SimDisk& disk = *folder_disk;
    if (offset + kSectorBytes > files_["binlog.2"].size()) break;
    disk.overwrite("binlog.2", offset, std::string_view(first).substr(offset, kSectorBytes));
    EXPECT_TRUE(open(disk, "binlog.2").is_reported);
  }
  const auto folder_disk = folder();
  SimDisk& disk = *folder_disk;
  disk.overwrite("binlog.1", kFirstRecordOffset + 700,
                 std::string_view(first).substr(kFirstRecordOffset, 693));
  EXPECT_TRUE(open(disk, "binlog.1").is_reported);
}

TEST_F(DamagedFolder, WithACopyOfAFileIsRefused) {
  const auto folder_disk = folder();
  folder_disk->put("binlog.4", files_["binlog.1"]);
  expect_refused(*folder_disk, {"binlog.4 was written as binlog.1"});
}

}  // namespace
}  // namespace haricot::binlog
