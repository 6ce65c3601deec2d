#include "tool/binlog/repair/guesses.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "haricot/binlog/format/file_name.hpp"
#include "haricot/binlog/write/segment_writer.hpp"
#include "support/log_maker.hpp"
#include "support/sim_disk.hpp"

namespace haricot::tool {
namespace {

using haricot::binlog::binlog_file_name;
using haricot::binlog::FileFacts;
using haricot::binlog::FileKind;
using haricot::binlog::FolderFacts;
using haricot::binlog::full_record;
using haricot::binlog::kVersionBytes;
using haricot::binlog::LogMaker;
using haricot::binlog::salt_of;
using haricot::binlog::seed_of;
using haricot::binlog::SimDisk;

constexpr std::uint64_t kHere = 99;
constexpr std::uint64_t kElsewhere = 100;

// Returns a file of that folder with some jobs, which follows the previous file.
std::string known_file(std::uint64_t number, std::uint64_t store_id = kHere,
                       bool is_sealed = false) {
  LogMaker log({.salt = salt_of(store_id, number),
                .next_id = 1,
                .file_number = number,
                .store_id = store_id,
                .oldest_needed = static_cast<std::uint32_t>(number),
                .previous_number = static_cast<std::uint32_t>(number - 1)});
  for (std::uint64_t id = 1; id <= 12; ++id) log.add(full_record(id, "mail", "hello\r\n"));
  if (is_sealed) log.seal(false);
  return log.bytes();
}
std::string headless(std::string bytes) {
  return bytes.replace(kVersionBytes, 84, std::string(84, '\xa5'));
}

class Guesses : public ::testing::Test {
 protected:
  void put(std::uint64_t number, const std::string& bytes) {
    disk_.put(binlog_file_name(number), bytes);
  }
  void run(const haricot::binlog::FolderNote& note = {}) {
    std::string error;
    ASSERT_TRUE(haricot::binlog::gather_facts(disk_, note, 0, facts_, error)) << error;
    ASSERT_TRUE(guess(disk_, facts_, guesses_, error)) << error;
  }
  const FileFacts& fact(std::size_t index) const { return facts_.files[index]; }
  std::string told() const {
    std::string text;
    for (const Guess& guess : guesses_) text += guess.file + " " + guess.what + "\n";
    return text;
  }

  SimDisk disk_;
  FolderFacts facts_;
  std::vector<Guess> guesses_;
};

TEST_F(Guesses, AreNotNeededForIdentifiedFiles) {
  put(1, known_file(1));
  put(2, headless(known_file(2)));
  put(3, known_file(3));
  run();
  EXPECT_EQ(told(), "");
  EXPECT_EQ(fact(1).identity.number, 2U);
}

TEST_F(Guesses, AFileWithoutAHeadIsFoundByItsSeed) {
  put(1, known_file(1));
  put(4, headless(known_file(3)));
  run();
  EXPECT_EQ(fact(1).identity.kind, FileKind::checked);
  EXPECT_EQ(fact(1).identity.number, 3U);
  EXPECT_EQ(fact(1).name_number, 3U) << "it counts in its place";
  EXPECT_EQ(told().substr(0, 39), "binlog.4 is taken for binlog.3, by 3 of");
}

TEST_F(Guesses, WithoutTheFoldersIdItsNameHasToDo) {
  put(4, headless(known_file(3)));
  run();
  EXPECT_EQ(fact(0).identity.kind, FileKind::checked);
  EXPECT_EQ(fact(0).identity.seed, seed_of(salt_of(kHere, 3), 3));
  EXPECT_EQ(fact(0).identity.number, 4U);
  EXPECT_NE(told().find("binlog.4 is taken for binlog.4"), std::string::npos) << told();
}

TEST_F(Guesses, OneOfAnotherFolderStaysUnidentified) {
  put(1, known_file(1));
  put(2, headless(known_file(2, kElsewhere)));
  run();
  EXPECT_EQ(fact(1).identity.kind, FileKind::unidentified);
  EXPECT_EQ(told(), "");
}

TEST_F(Guesses, OneThatAServerHasLeftAsideIsReadInItsPlace) {
  put(3, known_file(3));
  disk_.put("binlog.2.aside.1", headless(known_file(2)));
  disk_.put("binlog.1.aside.1", known_file(1));  // Its head identifies it.
  run();
  ASSERT_EQ(facts_.files.size(), 2U);
  EXPECT_EQ(fact(0).name, "binlog.2.aside.1");
  EXPECT_EQ(fact(0).identity.number, 2U);
  EXPECT_EQ(told(), "binlog.2.aside.1 is read in place of binlog.2\n");
}

TEST_F(Guesses, TheFolderIsTheOneOfWhichLessIsOdd) {
  put(1, known_file(1));
  put(2, known_file(7, kElsewhere, true));  // File 7 has another name, and 6 and 8 are missing.
  run();
  EXPECT_EQ(facts_.store_id(), kHere);
  EXPECT_NE(told().find("binlog.1 is taken for a file of this folder"), std::string::npos)
      << told();
  // The note has the other store id.
  facts_ = {};
  guesses_.clear();
  run({.store_id = kElsewhere});
  EXPECT_EQ(facts_.store_id(), kElsewhere);
  EXPECT_EQ(told(), "");
}

TEST_F(Guesses, ASignatureIsNotBelievedAgainstMoreSectors) {
  put(1, known_file(1));
  std::string bytes = known_file(2);
  bytes.replace(0, 88, known_file(5).substr(0, 88));
  // The server scans the file after the first sector, and finds a record of each store.
  std::string longer = known_file(5);
  bytes.replace(1200, longer.size() - 1200, longer.substr(1200));
  put(2, bytes);
  run();
  EXPECT_EQ(fact(1).identity.number, 2U) << told();
}

}  // namespace
}  // namespace haricot::tool
