// Regression tests. Each is named after the former defect.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "folders.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/write/segment_writer.hpp"
#include "judge.hpp"
#include "random_hurts.hpp"
#include "support/random.hpp"

namespace haricot::damage {
namespace {

using binlog::binlog_file_name;
using Kind = binlog::Problem::Kind;

bool holds(const Image& image, const std::string& bytes) {
  return std::any_of(image.begin(), image.end(), [&](const auto& file) {
    return without_zeros_at_end(file.second) == without_zeros_at_end(bytes);
  });
}

// Starts a server, deletes all jobs, and waits until their files are removed.
void delete_all(SimDisk& disk) {
  Server server(disk, kWall);
  ASSERT_TRUE(server.reading().is_good) << server.reading().error;
  for (const auto& [id, job] : server.reading().jobs) server.delete_job(id);
  for (int i = 0; i < 12; ++i) {
    server.delete_job(server.put(900));
    server.end_turn();
  }
  server.idle();
  server.close();
}

TEST(FormerDefects, ADamagedHeadRemovesTheFile) {
  for (const Ending ending : {Ending::stopped, Ending::killed}) {
    const KnownFolder& folder = of_one_file(ending);
    for (const std::size_t offset : {0U, 4U, 8U, 12U, 16U, 44U}) {
      HurtFolder hurt(folder);
      hurt.flip(1, offset, 0);
      EXPECT_EQ(judge(hurt, Depth::starts).wrong, "");
      SimDisk disk;
      put_all(hurt.image(), disk);
      disk.set_folder_note(folder.note);  // It identifies the file.
      delete_all(disk);
      EXPECT_TRUE(holds(image_of(disk), hurt.file(1).bytes)) << hurt.what();
    }
  }
}

TEST(FormerDefects, OneFlippedBitInTheLastFileOfBeanstalkdLosesTheRest) {
  for (const std::uint32_t version : {binlog::kVersion, binlog::kVersionOfBeanstalkd14}) {
    const KnownFolder& folder = of_beanstalkd(version);
    const KnownFile& last = folder.files.back();
    // Damages the length of a name, after which the reader found no more records.
    const Piece& piece = last.pieces[4];
    HurtFolder hurt(folder);
    hurt.flip(last.number, piece.offset + 1, 6);
    const Verdict verdict = judge(hurt, Depth::starts);
    EXPECT_EQ(verdict.wrong, "");
    EXPECT_GE(verdict.reading.jobs.size() + 1, acknowledged_jobs(folder).size());
    EXPECT_FALSE(verdict.reading.is_sound);
  }
}

TEST(FormerDefects, Version7TurnedInto5) {
  for (const KnownFolder* folder :
       {&of_beanstalkd(binlog::kVersion), &there_and_back(), &of_three_files(Ending::stopped),
        &of_one_file(Ending::killed)}) {
    for (const KnownFile& file : folder->files) {
      HurtFolder hurt(*folder);
      hurt.overwrite(file.number, 0, std::string(1, 5));
      const Verdict verdict = judge(hurt, Depth::starts);
      EXPECT_EQ(verdict.wrong, "");
      // If the server starts, it has all jobs. It may refuse the files of beanstalkd.
      if (verdict.reading.is_good) {
        EXPECT_TRUE(verdict.reading.jobs == acknowledged_jobs(*folder)) << hurt.what();
        EXPECT_FALSE(verdict.reading.is_sound) << hurt.what();
      } else {
        EXPECT_NE(file.writer, Writer::haricot) << hurt.what();
      }
    }
  }
}

TEST(FormerDefects, ACopyUnderAnotherNumberBringsDeletedJobsBack) {
  const KnownFolder& folder = of_three_files(Ending::stopped);
  // The first file has jobs whose deletion is recorded in a later file.
  for (std::size_t i = 0; i < 2; ++i) {
    HurtFolder hurt(folder);
    hurt.copy(folder.files[i].number, folder.last_number() + 1);
    const Verdict verdict = judge(hurt, Depth::starts);
    EXPECT_EQ(verdict.wrong, "");
    EXPECT_TRUE(verdict.reading.jobs == acknowledged_jobs(folder));
    EXPECT_TRUE(verdict.refused.is_refused());
    EXPECT_TRUE(verdict.reading.says("is a copy of")) << verdict.reading.text();
  }
}

TEST(FormerDefects, AMissingLastFileIsNotReported) {
  for (const KnownFolder* folder : {&of_three_files(Ending::stopped), &of_eighteen_files()}) {
    HurtFolder hurt(*folder);
    hurt.remove(folder->last_number());
    const Verdict verdict = judge(hurt, Depth::starts);
    EXPECT_EQ(verdict.wrong, "");
    EXPECT_TRUE(verdict.refused.is_refused());
    EXPECT_TRUE(verdict.reading.says("is missing")) << verdict.reading.text();
    EXPECT_TRUE(verdict.reading.tells(Kind::in_doubt)) << verdict.reading.text();
    EXPECT_GT(verdict.reading.next_id, folder->highest_id);
  }
}

// Crashes the first start at every step. The second start completes the copy.
TEST(FormerDefects, AKillWhileTheCopyIsWrittenLeavesAStubThatCountsAsTheCopy) {
  const KnownFolder& folder = of_three_files(Ending::killed);
  test::Random random(11);
  HurtFolder hurt(folder);
  hurt.zero(folder.files[0].number, 100, 300).flip(folder.files[1].number, 50, 3);
  const KnownFile& last = folder.files.back();
  hurt.flip(last.number, last.pieces.back().offset + 20, 1);  // Half a record.
  SimDisk disk;
  put_all(hurt.image(), disk);
  disk.start_trace();
  { const Server server(disk, kWall); }
  const auto past = disk.replay_until(0);
  for (std::size_t cut = 0; cut <= disk.trace().size(); ++cut) {
    disk.replay_more(*past, cut);
    for (int crash = 0; crash < 6; ++crash) {
      SCOPED_TRACE("crash behind step " + std::to_string(cut));
      const auto crashed = past->crash(random);
      ASSERT_NO_FATAL_FAILURE(delete_all(*crashed));
      const Image after = image_of(*crashed);
      for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_TRUE(holds(after, hurt.file(folder.files[i].number).bytes)) << i;
      }
      const std::string& torn = hurt.file(last.number).bytes;
      EXPECT_TRUE(std::any_of(after.begin(), after.end(), [&](const auto& file) {
        const bool is_end = file.first.find(".torn.") != std::string::npos &&
                            torn.find(file.second) != std::string::npos;
        // The last number of the record ends in zeros, which may be missing.
        return file.second == torn || (is_end && file.second.size() + 8 > last.pieces.back().bytes);
      }));
      if (HasFailure()) return;
    }
  }
}

TEST(FormerDefects, AnOldDamagedSuppressesTheCopy) {
  const KnownFolder& folder = of_three_files(Ending::stopped);
  const std::uint64_t number = folder.files[1].number;
  HurtFolder hurt(folder);
  hurt.zero(number, 600, 200);
  const std::string name = binlog_file_name(number);
  const std::string damaged = hurt.file(number).bytes;
  for (const bool is_same : {false, true}) {
    SimDisk disk;
    put_all(hurt.image(), disk);
    disk.put(name + ".damaged", "of an earlier damage, by an earlier version");
    disk.put(name + ".damaged.1", is_same ? damaged : "of an earlier damage");
    delete_all(disk);
    delete_all(disk);
    Image after = image_of(disk);
    EXPECT_EQ(after[name + ".damaged"], "of an earlier damage, by an earlier version");
    EXPECT_EQ(after[name + ".damaged.1"], is_same ? damaged : "of an earlier damage");
    EXPECT_EQ(after.contains(name + ".damaged.2"), !is_same);
    if (!is_same) {
      EXPECT_EQ(after[name + ".damaged.2"], without_zeros_at_end(damaged));
    }
  }
}

// The file was cut, which took the marks behind the zeros.
TEST(FormerDefects, ZerosAcrossTwoRecordsWereHalfDamageAndHalfTorn) {
  constexpr std::uint64_t kSeed = 3955606283877442498U;
  EXPECT_EQ(judge(hurt_at_random(kSeed), Depth::starts, kSeed).wrong, "");
}

// The model and the server have to agree on the losses that need no report.
TEST(FormerDefects, SeveralInjuriesAmountToALossOfPower) {
  for (const std::uint64_t seed :
       {11984921442400121842U, 10931095214252170947U, 5309874129706004706U, 8888939943232107517U,
        10686245149658949184U, 8730994964898351421U, 4571851660071953137U, 10022908259428748169U,
        4720929552035370948U, 9151082088663870677U, 4609202812408801218U, 16836454614740982523U,
        17770067843038683831U, 7003883494637647355U}) {
    EXPECT_EQ(judge(hurt_at_random(seed), Depth::starts, seed).wrong, "") << seed;
  }
}

}  // namespace
}  // namespace haricot::damage
