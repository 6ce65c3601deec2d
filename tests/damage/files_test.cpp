// Folders of haricotd with missing, renamed and foreign files.

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "folders.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/write/segment_writer.hpp"
#include "sweep.hpp"

namespace haricot::damage {
namespace {

using Kind = binlog::Problem::Kind;

constexpr std::string_view kDisplaced = "and is read in its place";
constexpr std::string_view kDuplicate = "is a copy of";
constexpr std::string_view kForeign = "was written in another folder";
constexpr std::string_view kContradicted = "one of the two is from a copy of the folder";
constexpr std::string_view kMissing = "is missing";
constexpr std::string_view kOtherRun = "was not begun by the server that used the folder last";

// Returns folders whose files can be distinguished from each other.
std::vector<const KnownFolder*> folders() {
  return {&of_three_files(Ending::stopped),
          &of_three_files(Ending::killed),
          &compacted(Ending::stopped),
          &compacted(Ending::killed),
          &restarted(),
          &of_eighteen_files()};
}

void expect_all_jobs(const Verdict& verdict, const HurtFolder& hurt) {
  EXPECT_TRUE(verdict.reading.jobs == acknowledged_jobs(hurt.known())) << hurt.what() << "\n"
                                                                       << verdict.reading.text();
}
// Returns the note in the form of an earlier version.
binlog::FolderNote runs_of(const binlog::FolderNote& note) {
  return {.store_id = note.store_id, .run = note.run, .run_before = note.run_before};
}
// Expects that a server refuses the folder, and that `repair` reports that decision.
void expect_refused(const Verdict& verdict, std::string_view decision, const HurtFolder& hurt) {
  EXPECT_TRUE(verdict.refused.is_refused()) << hurt.what() << "\n" << verdict.refused.text();
  EXPECT_TRUE(verdict.reading.says(decision)) << hurt.what() << "\n" << verdict.reading.text();
}

TEST(StrayFiles, ExchangedFilesAreRefusedAndRepaired) {
  Sweep sweep(1, kStride);
  for (const KnownFolder* folder : folders()) {
    for (const KnownFile& one : folder->files) {
      for (const KnownFile& other : folder->files) {
        if (other.number <= one.number || !sweep.is_next()) continue;
        HurtFolder hurt(*folder);
        hurt.exchange(one.number, other.number);
        const Verdict verdict = sweep.judge(hurt);
        expect_all_jobs(verdict, hurt);
        expect_refused(verdict, kDisplaced, hurt);
        if (HasFailure() && sweep.is_over()) return;
      }
    }
  }
}

// Renumbers each file by `change`. Expects a refusal, and all jobs after a repair.
void expect_told_of_other_numbers(HurtFolder& (HurtFolder::*change)(std::uint64_t, std::uint64_t),
                                  std::string_view decision) {
  Sweep sweep(1);
  for (const KnownFolder* folder : folders()) {
    const std::uint64_t last = folder->last_number();
    for (const KnownFile& file : folder->files) {
      for (const std::uint64_t to : {last + 1, last + 6, folder->files[0].number - 1}) {
        if (to == 0 || !sweep.is_next()) continue;
        HurtFolder hurt(*folder);
        (hurt.*change)(file.number, to);
        const Verdict verdict = sweep.judge(hurt);
        expect_all_jobs(verdict, hurt);
        expect_refused(verdict, decision, hurt);
      }
    }
  }
}

TEST(StrayFiles, ARenamedFileIsRefusedAndRepaired) {
  expect_told_of_other_numbers(&HurtFolder::rename, kDisplaced);
}

TEST(StrayFiles, ACopyUnderAnotherNumberIsRefusedAndRepaired) {
  expect_told_of_other_numbers(&HurtFolder::copy, kDuplicate);
}

TEST(StrayFiles, AMissingOneIsReported) {
  Sweep sweep(1);
  for (const KnownFolder* folder : folders()) {
    for (std::size_t i = 0; i < folder->files.size() && sweep.is_next(); ++i) {
      HurtFolder hurt(*folder);
      hurt.remove(folder->files[i].number);
      const Verdict verdict = sweep.judge(hurt);
      const bool is_last = i + 1 == folder->files.size();
      if (!is_last) expect_refused(verdict, kMissing, hurt);
      // Without a note, a crash when the newest file was begun leaves the same.
      if (is_last && folder->files[i - 1].is_followed()) {
        EXPECT_TRUE(verdict.reading.says(kMissing) || verdict.reading.tells(Kind::in_doubt))
            << verdict.reading.text();
      }
    }
  }
}

TEST(StrayFiles, TwoMissingOnesAreReported) {
  Sweep sweep(1, kStride);
  for (const KnownFolder* folder : folders()) {
    for (std::size_t i = 0; i < folder->files.size(); ++i) {
      for (std::size_t k = i + 1; k < folder->files.size(); ++k) {
        if (folder->files.size() < 3 || !sweep.is_next()) continue;
        sweep.judge(
            HurtFolder(*folder).remove(folder->files[i].number).remove(folder->files[k].number));
      }
    }
  }
}

TEST(StrayFiles, AnEmptyOneIsReported) {
  Sweep sweep(1);
  for (const KnownFolder* folder : folders()) {
    for (const KnownFile& file : folder->files) {
      for (const bool zeros : {false, true}) {
        if (!sweep.is_next()) continue;
        HurtFolder hurt(*folder);
        if (zeros) {
          hurt.zero(file.number, 0, file.bytes.size());
        } else {
          hurt.cut(file.number, 0);
        }
        const Verdict verdict = sweep.judge(hurt);
        EXPECT_FALSE(verdict.reading.problems.empty()) << hurt.what();
        if (file.number == folder->last_number()) {
          EXPECT_TRUE(verdict.reading.says("is empty")) << verdict.reading.text();
        }
      }
    }
  }
}

TEST(StrayFiles, AFileOfAnotherStoreIsRefusedAndRepaired) {
  Sweep sweep(1);
  for (const KnownFolder* folder : folders()) {
    for (const KnownFile& strange : of_another_store().files) {
      const std::uint64_t last = folder->last_number();
      for (const std::uint64_t number : {folder->files[0].number - 1, folder->files[1].number, last,
                                         last + 1, last + 3, strange.number}) {
        if (number == 0 || !sweep.is_next()) continue;
        HurtFolder hurt(*folder);
        hurt.add_strange(number, strange.bytes);
        const Verdict verdict = sweep.judge(hurt);
        expect_refused(verdict, kForeign, hurt);
        if (hurt.files().size() > folder->files.size()) expect_all_jobs(verdict, hurt);
      }
    }
  }
}

// The file was begun by a copy of the folder after both copies were used.
TEST(StrayFiles, AFileOfADivergedCopyIsRefusedAndRepaired) {
  Sweep sweep(1);
  const Diverged& both = diverged();
  for (const auto& [mine, other] : {std::pair(&both.one, &both.other), {&both.other, &both.one}}) {
    for (std::uint64_t n = both.last_in_common + 1; n < mine->last_number(); ++n) {
      // The next file records its predecessor.
      HurtFolder hurt(*mine);
      hurt.add_strange(n, other->file(n).bytes);
      const Verdict verdict = sweep.judge(hurt);
      expect_refused(verdict, kContradicted, hurt);
    }
  }
}

// Without a next file, the reader detects that one of the two files is foreign, but not which one.
TEST(StrayFiles, TheNewestOneOfADivergedCopyIsReported) {
  const Diverged& both = diverged();
  for (const auto& [mine, other] : {std::pair(&both.one, &both.other), {&both.other, &both.one}}) {
    const std::uint64_t last = mine->last_number();
    SimDisk disk;
    Image image = HurtFolder(*mine).add_strange(last, other->file(last).bytes).image();
    put_all(image, disk);
    EXPECT_TRUE(check(disk, kWall).is_refused());
    SimDisk repaired;
    const Reading reading = rescue(disk, kWall, &repaired);
    ASSERT_TRUE(reading.is_good) << reading.error;
    EXPECT_TRUE(reading.says(kContradicted)) << reading.text();
    const Server server(repaired, kWall);
    EXPECT_EQ(server.reading().jobs, reading.jobs);
    EXPECT_GT(server.next_id(), other->highest_id);
  }
}

// Both copies have begun a file after the last common one.
TEST(StrayFiles, TheNewestOneOfADivergedCopyIsReportedAfterTheSameFile) {
  const Diverged& both = diverged();
  const std::uint64_t next = both.last_in_common + 1;
  for (const auto& [mine, other] : {std::pair(&both.one, &both.other), {&both.other, &both.one}}) {
    HurtFolder hurt(*mine);
    hurt.add_strange(next, other->file(next).bytes);
    for (std::uint64_t n = next + 1; n <= mine->last_number(); ++n) hurt.remove(n);
    SimDisk disk;
    put_all(hurt.image(), disk);
    // The file matches all others; only the note contradicts it.
    EXPECT_TRUE(check(disk, kWall).is_sound);
    disk.set_folder_note(mine->note);
    const bool is_newer_missing = next < mine->last_number();
    EXPECT_EQ(check(disk, kWall).says(kMissing), is_newer_missing);
    // The note of an earlier version lists no files.
    disk.set_folder_note(runs_of(mine->note));
    EXPECT_TRUE(check(disk, kWall).is_refused());
    SimDisk repaired;
    const Reading reading = rescue(disk, kWall, &repaired);
    EXPECT_TRUE(reading.is_good) << reading.error;
    EXPECT_TRUE(reading.says(kOtherRun)) << reading.text();
    EXPECT_TRUE(reading.tells(Kind::in_doubt)) << reading.text();
    EXPECT_GT(reading.next_id, mine->highest_id);
    EXPECT_TRUE(check(repaired, kWall).is_sound);
  }
}

// An old backup with a new note: newer files are missing, and only the note shows them.
TEST(StrayFiles, OlderFilesThanThoseOfTheNoteAreReported) {
  const KnownFolder& folder = diverged().one;
  HurtFolder hurt(folder);
  for (std::uint64_t n = diverged().last_in_common + 1; n <= folder.last_number(); ++n) {
    hurt.remove(n);
  }
  SimDisk disk;
  put_all(hurt.image(), disk);
  EXPECT_TRUE(check(disk, kWall).is_sound) << "an old backup is a sound folder";
  disk.set_folder_note(runs_of(folder.note));
  EXPECT_TRUE(check(disk, kWall).is_refused());
  Reading reading = rescue(disk, kWall);
  EXPECT_TRUE(reading.says(kOtherRun)) << reading.text();
  EXPECT_GT(reading.next_id, folder.highest_id);
  disk.set_folder_note(folder.note);
  EXPECT_TRUE(check(disk, kWall).is_refused());
  reading = rescue(disk, kWall);
  EXPECT_TRUE(reading.says(kMissing)) << reading.text();
  EXPECT_GT(reading.next_id, folder.highest_id);
}

// The report does not depend on the previous file, whose seal may say that the server was stopped.
TEST(StrayFiles, AMissingNewestFileWithRecordsIsReported) {
  SimDisk disk;
  for (int life = 0; life < 3; ++life) {
    Server server(disk, kWall, {.file_bytes = 65536, .sync = binlog::SyncPolicy::every_turn});
    work(server, 500 + static_cast<std::uint64_t>(life), 20);
    server.end_turn();
    server.close();
  }
  std::vector<std::string> names;
  ASSERT_EQ(disk.list(names), binlog::DiskStatus::ok);
  std::uint64_t newest = 0;
  for (const std::string& name : names) {
    newest = std::max(newest, binlog::binlog_file_number(name).value_or(0));
  }
  EXPECT_TRUE(check(disk, kWall).is_sound);
  ASSERT_EQ(disk.remove(binlog::binlog_file_name(newest)), binlog::DiskStatus::ok);
  EXPECT_TRUE(check(disk, kWall).is_refused());
  Reading reading = rescue(disk, kWall);
  EXPECT_TRUE(reading.says(kMissing)) << reading.text();
  EXPECT_TRUE(reading.tells(Kind::in_doubt)) << reading.text();
  disk.set_folder_note(runs_of(disk.folder_note()));
  EXPECT_TRUE(check(disk, kWall).is_refused());
  reading = rescue(disk, kWall);
  EXPECT_TRUE(reading.says(kOtherRun)) << reading.text();
  EXPECT_TRUE(reading.tells(Kind::in_doubt)) << reading.text();
}

// The note is the only rest of a folder.
TEST(StrayFiles, AllMissingOnesAreReported) {
  for (const KnownFolder* folder : {&of_one_file(Ending::killed), &of_three_files(Ending::stopped),
                                    &of_three_files(Ending::killed)}) {
    for (const bool is_of_earlier_version : {false, true}) {
      SCOPED_TRACE(folder->name + (is_of_earlier_version ? ", an old note" : ""));
      SimDisk disk;
      disk.set_folder_note(is_of_earlier_version ? runs_of(folder->note) : folder->note);
      EXPECT_TRUE(check(disk, kWall).is_refused());
      SimDisk repaired;
      const Reading reading = rescue(disk, kWall, &repaired);
      EXPECT_TRUE(reading.is_good) << reading.error;
      EXPECT_TRUE(reading.says(kMissing)) << reading.text();
      EXPECT_GT(reading.next_id, folder->highest_id);
      Server server(repaired, kWall);
      EXPECT_TRUE(server.reading().is_sound) << server.reading().text();
      EXPECT_GE(server.put(20), reading.next_id);
      server.end_turn();
      server.close();
    }
  }
  SimDisk disk;
  disk.set_folder_note({.store_id = 7, .run = 8});
  EXPECT_TRUE(check(disk, kWall).is_sound) << "a run that has recorded nothing had nothing";
}

// Cuts the last file of a stopped server to every length.
TEST(StrayFiles, TheNewestOneOfAStoppedServerIsNotCutUnseen) {
  const KnownFolder& folder = of_three_files(Ending::stopped);
  const KnownFile& newest = folder.files.back();
  for (const bool has_signature : {true, false}) {
    for (std::size_t length = 0; length < newest.bytes.size(); ++length) {
      HurtFolder hurt(folder);
      hurt.cut(newest.number, length);
      if (!has_signature) hurt.zero(newest.number, 12, 118);
      SCOPED_TRACE(hurt.what());
      SimDisk disk;
      put_all(hurt.image(), disk);
      disk.set_folder_note(folder.note);
      const Reading reading = check(disk, kWall);
      EXPECT_FALSE(reading.is_sound);
      EXPECT_GT(reading.next_id, folder.highest_id);
    }
  }
}

// beanstalkd writes to its own files and does not change the note.
TEST(StrayFiles, AVisitOfBeanstalkdBehindAStoppedServerIsNoDamage) {
  const KnownFolder& folder = of_three_files(Ending::stopped);
  const KnownFolder& legacy = of_beanstalkd(binlog::kVersion);
  SimDisk disk;
  for (const KnownFile& file : legacy.files) {
    disk.put(binlog::binlog_file_name(folder.last_number() + file.number), file.bytes);
  }
  disk.set_folder_note(folder.note);
  EXPECT_TRUE(check(disk, folder.wall).is_sound) << "beanstalkd has removed all our files";
  put_all(HurtFolder(folder).image(), disk);
  // Both servers have assigned the same ids, which is the only reported problem.
  for (const binlog::Problem& problem : check(disk, folder.wall).problems) {
    EXPECT_FALSE(problem.kind == Kind::unfit ||
                 problem.file == binlog::binlog_file_name(folder.last_number()))
        << to_sentence(problem);
  }
}

// An idle beanstalkd leaves a file with its version and zeros.
TEST(StrayFiles, AnIdleVisitOfBeanstalkdIsNoDamage) {
  for (const Ending ending : {Ending::stopped, Ending::killed}) {
    const KnownFolder& folder = of_one_file(ending);
    SimDisk disk;
    put_all(HurtFolder(folder).image(), disk);
    disk.set_folder_note(folder.note);
    std::string begun(4096, '\0');
    begun[0] = 7;
    disk.put(binlog::binlog_file_name(folder.last_number() + 1), begun);
    const Reading reading = check(disk, folder.wall);
    EXPECT_TRUE(reading.problems.empty()) << reading.text();
    EXPECT_TRUE(reading.jobs == acknowledged_jobs(folder));
    Server server(disk, folder.wall);
    EXPECT_TRUE(server.reading().is_sound);
    server.close();
  }
}

TEST(StrayFiles, NoneIsSeenWhereServersWereStoppedAndKilledInTurn) {
  Image image;
  binlog::FolderNote note;
  for (int life = 0; life < 12; ++life) {
    SimDisk disk;
    put_all(image, disk);
    disk.set_folder_note(note);
    Server server(disk, kWall, kSmallFiles, kStoreId);
    EXPECT_TRUE(server.reading().is_sound) << "life " << life << "\n" << server.reading().text();
    // A server that is killed at once has begun a file, which may not be in the note.
    const bool is_killed_at_once = life % 5 == 4;
    if (!is_killed_at_once) {
      note = disk.folder_note();
      if (life % 3 != 0) work(server, 300 + static_cast<std::uint64_t>(life), 20);
      server.end_turn();
      if (life % 2 == 0) server.close();
    }
    image = image_of(disk);
  }
}

// beanstalkd ignores such names, and so do servers, unless it looks like that of a binlog file.
TEST(StrayFiles, ANameThatNoServerGivesIsRefusedOrIgnored) {
  for (const std::string name : {"binlog.03", "binlog.0", "binlog.+3", "binlog.3x", "binlog.",
                                 "binlog.99999999999999999999", "BINLOG.3"}) {
    SimDisk disk;
    const KnownFolder& folder = of_three_files(Ending::stopped);
    put_all(HurtFolder(folder).image(), disk);
    const std::string bytes = of_another_store().files.back().bytes;
    disk.put(name, bytes);
    const bool looks_like_ours = name.starts_with("binlog.") && name.size() > 7 &&
                                 name.find_first_not_of("0123456789", 7) == std::string::npos;
    EXPECT_EQ(check(disk, folder.wall).is_refused(), looks_like_ours) << name;
    EXPECT_TRUE(rescue(disk, folder.wall).jobs == acknowledged_jobs(folder)) << name;
    if (looks_like_ours) continue;
    {
      Server server(disk, folder.wall);
      ASSERT_TRUE(server.reading().is_good) << name << ": " << server.reading().error;
      EXPECT_TRUE(server.reading().jobs == acknowledged_jobs(folder)) << name;
      for (const auto& [id, job] : server.reading().jobs) server.delete_job(id);
      server.idle();
      server.close();
    }
    EXPECT_EQ(image_of(disk)[name], bytes);
  }
}

}  // namespace
}  // namespace haricot::damage
