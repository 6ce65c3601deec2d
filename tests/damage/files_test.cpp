// Folders of haricotd with missing, renamed and foreign files.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "folders.hpp"
#include "haricot/binlog/format/file_name.hpp"
#include "haricot/binlog/write/segment_writer.hpp"
#include "sweep.hpp"

namespace haricot::damage {
namespace {

using Kind = binlog::Problem::Kind;

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
void expect_told(const Verdict& verdict, Kind kind, const HurtFolder& hurt) {
  EXPECT_TRUE(verdict.reading.tells(kind)) << hurt.what() << "\n" << verdict.reading.text();
}

TEST(StrayFiles, TwoThatWereExchangedAreReadInTheRightOrder) {
  Sweep sweep(1, kStride);
  for (const KnownFolder* folder : folders()) {
    for (const KnownFile& one : folder->files) {
      for (const KnownFile& other : folder->files) {
        if (other.number <= one.number || !sweep.is_next()) continue;
        HurtFolder hurt(*folder);
        hurt.exchange(one.number, other.number);
        const Verdict verdict = sweep.judge(hurt);
        expect_all_jobs(verdict, hurt);
        expect_told(verdict, Kind::displaced, hurt);
        if (HasFailure() && sweep.is_over()) return;
      }
    }
  }
}

// Renumbers each file by `change`. Expects all jobs, and a report of `kind`.
void expect_told_of_other_numbers(HurtFolder& (HurtFolder::*change)(std::uint64_t, std::uint64_t),
                                  Kind kind) {
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
        expect_told(verdict, kind, hurt);
      }
    }
  }
}

TEST(StrayFiles, OneUnderAnotherNumberIsReadInItsPlace) {
  expect_told_of_other_numbers(&HurtFolder::rename, Kind::displaced);
}

TEST(StrayFiles, ACopyUnderAnotherNumberIsLeftAside) {
  expect_told_of_other_numbers(&HurtFolder::copy, Kind::duplicate);
}

TEST(StrayFiles, AMissingOneIsReported) {
  Sweep sweep(1);
  for (const KnownFolder* folder : folders()) {
    for (std::size_t i = 0; i < folder->files.size() && sweep.is_next(); ++i) {
      HurtFolder hurt(*folder);
      hurt.remove(folder->files[i].number);
      const Verdict verdict = sweep.judge(hurt);
      const bool is_last = i + 1 == folder->files.size();
      if (!is_last || folder->files[i - 1].is_followed()) expect_told(verdict, Kind::missing, hurt);
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
        if (file.number == folder->last_number()) expect_told(verdict, Kind::emptied, hurt);
      }
    }
  }
}

TEST(StrayFiles, OneOfAnotherStoreIsLeftAside) {
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
        expect_told(verdict, Kind::foreign, hurt);
        if (hurt.files().size() > folder->files.size()) expect_all_jobs(verdict, hurt);
      }
    }
  }
}

// The file was begun by a copy of the folder after both copies were used.
TEST(StrayFiles, OneOfADivergedCopyIsLeftAside) {
  Sweep sweep(1);
  const Diverged& both = diverged();
  for (const auto& [mine, other] : {std::pair(&both.one, &both.other), {&both.other, &both.one}}) {
    for (std::uint64_t n = both.last_in_common + 1; n < mine->last_number(); ++n) {
      // The next file records its predecessor.
      HurtFolder hurt(*mine);
      hurt.add_strange(n, other->file(n).bytes);
      const Verdict verdict = sweep.judge(hurt);
      expect_told(verdict, Kind::contradicted, hurt);
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
    const Reading reading = check(disk, kWall);
    ASSERT_TRUE(reading.is_good) << reading.error;
    EXPECT_FALSE(reading.is_sound);
    EXPECT_TRUE(reading.tells(Kind::contradicted)) << reading.text();
    Server server(disk, kWall);
    for (const auto& [id, job] : server.reading().jobs) server.delete_job(id);
    server.idle();
    server.close();
    // All files that were set aside still exist.
    const Image after = image_of(disk);
    for (const binlog::Problem& problem : reading.problems) {
      if (problem.kind != Kind::contradicted) continue;
      const std::string& bytes = image[problem.file];
      EXPECT_TRUE(std::any_of(after.begin(), after.end(),
                              [&](const auto& file) { return file.second == bytes; }));
    }
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
    EXPECT_EQ(check(disk, kWall).tells(Kind::missing), is_newer_missing);
    // The note of an earlier version lists no files.
    disk.set_folder_note(runs_of(mine->note));
    const Reading reading = check(disk, kWall);
    EXPECT_TRUE(reading.is_good) << reading.error;
    EXPECT_FALSE(reading.is_sound);
    EXPECT_TRUE(reading.tells(Kind::other_run)) << reading.text();
    EXPECT_TRUE(reading.tells(Kind::in_doubt)) << reading.text();
    EXPECT_GT(reading.next_id, mine->highest_id);
    Server server(disk, kWall);
    EXPECT_EQ(server.reading().text(), reading.text());
    server.close();
    EXPECT_TRUE(check(disk, kWall).is_sound) << "it is told once";
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
  Reading reading = check(disk, kWall);
  EXPECT_TRUE(reading.tells(Kind::other_run)) << reading.text();
  EXPECT_GT(reading.next_id, folder.highest_id);
  disk.set_folder_note(folder.note);
  reading = check(disk, kWall);
  EXPECT_TRUE(reading.tells(Kind::missing)) << reading.text();
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
  Reading reading = check(disk, kWall);
  EXPECT_TRUE(reading.tells(Kind::missing)) << reading.text();
  EXPECT_TRUE(reading.tells(Kind::in_doubt)) << reading.text();
  disk.set_folder_note(runs_of(disk.folder_note()));
  reading = check(disk, kWall);
  EXPECT_TRUE(reading.tells(Kind::other_run)) << reading.text();
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
      const Reading reading = check(disk, kWall);
      EXPECT_TRUE(reading.is_good) << reading.error;
      EXPECT_FALSE(reading.is_sound);
      EXPECT_TRUE(reading.tells(Kind::missing)) << reading.text();
      EXPECT_GT(reading.next_id, folder->highest_id);
      Server server(disk, kWall);
      EXPECT_EQ(server.reading().text(), reading.text());
      EXPECT_GE(server.put(20), reading.next_id);
      if (!is_of_earlier_version) {
        EXPECT_GT(server.current_file(), folder->last_number());
      }
      server.end_turn();
      server.close();
      EXPECT_TRUE(check(disk, kWall).is_sound) << "it is told once";
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
    EXPECT_FALSE(problem.kind == Kind::missing ||
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

// A name with a leading zero, or with a number that is too large, is neither read nor removed.
TEST(StrayFiles, OneWithANameThatNoServerGivesStays) {
  for (const std::string name : {"binlog.03", "binlog.0", "binlog.+3", "binlog.3x", "binlog.",
                                 "binlog.99999999999999999999", "BINLOG.3"}) {
    SimDisk disk;
    const KnownFolder& folder = of_three_files(Ending::stopped);
    put_all(HurtFolder(folder).image(), disk);
    const std::string bytes = of_another_store().files.back().bytes;
    disk.put(name, bytes);
    {
      Server server(disk, folder.wall);
      ASSERT_TRUE(server.reading().is_good) << name << ": " << server.reading().error;
      EXPECT_TRUE(server.reading().jobs == acknowledged_jobs(folder)) << name;
      for (const auto& [id, job] : server.reading().jobs) server.delete_job(id);
      server.idle();
      server.close();
    }
    const Image after = image_of(disk);
    EXPECT_TRUE(std::any_of(after.begin(), after.end(), [&](const auto& file) {
      return file.second == bytes;
    })) << name;
  }
}

}  // namespace
}  // namespace haricot::damage
