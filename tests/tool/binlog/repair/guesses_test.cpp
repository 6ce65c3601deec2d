#include "tool/binlog/repair/guesses.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "haricot/base/little_endian.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/format/record.hpp"
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
using haricot::binlog::Signature;
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
  EXPECT_EQ(facts_.store_id, kHere);
  EXPECT_NE(told().find("binlog.1 is taken for a file of this folder"), std::string::npos)
      << told();
  // The note has the other store id.
  facts_ = {};
  guesses_.clear();
  run({.store_id = kElsewhere});
  EXPECT_EQ(facts_.store_id, kElsewhere);
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

using haricot::binlog::change_record;
using haricot::binlog::full_record;
using haricot::binlog::LogMaker;
using haricot::binlog::salt_of;
using haricot::binlog::seed_of;
using haricot::binlog::Signature;

constexpr std::uint64_t kStoreOfFile = 99;

LogMaker file_of(std::uint64_t number) {
  return LogMaker(number, salt_of(kStoreOfFile, number));
}
std::uint32_t seed_of_file(std::uint64_t number) {
  return seed_of(salt_of(kStoreOfFile, number), number);
}
void spoil_head(std::string& bytes) {
  bytes.replace(4, 84, std::string(84, '\xa5'));
}

TEST(SeedSearch, OneFullRecordProvesTheSeed) {
  LogMaker log = file_of(5);
  log.add(full_record(1, "mail", "hello\r\n"));
  spoil_head(log.bytes());
  EXPECT_EQ(SeedSearch(log.bytes()).run(), seed_of_file(5));
}

TEST(SeedSearch, OneChangeAloneProvesNothingAndTwoThatAgreeDo) {
  LogMaker log = file_of(5);
  log.add(change_record(1, binlog::RecordState::buried));
  std::string one = log.bytes();
  spoil_head(one);
  EXPECT_FALSE(SeedSearch(one).run());
  log.add(change_record(2, binlog::RecordState::deleted));
  spoil_head(log.bytes());
  EXPECT_EQ(SeedSearch(log.bytes()).run(), seed_of_file(5));
}

// beanstalkd copies the padding of records from our files, including stale checksums.
TEST(SeedSearch, StaleSumsInCopiesOfBeanstalkdProveNothing) {
  LogMaker log = file_of(5);
  const std::size_t from = log.add(full_record(1, "mail", "hello\r\n"));
  std::string bytes = "\x07" + std::string(3, '\0');
  for (std::uint64_t id = 2; id < 40; ++id) {
    std::string copy = log.bytes().substr(from, binlog::header_bytes(4));
    store_little_endian(copy.data() + 8, id);
    bytes += copy + "hello\r\n";
  }
  EXPECT_FALSE(SeedSearch(bytes).run());
}

// A disk that writes to the wrong place writes whole sectors.
TEST(SeedSearch, TheSeedOfMoreSectorsWins) {
  constexpr std::size_t kSector = 512;
  LogMaker log = file_of(5);
  LogMaker other = file_of(6);
  for (std::uint64_t id = 1; id < 30; ++id) {
    log.add(full_record(id, "mail", std::string(200, 'b') + "\r\n"));
    other.add(change_record(id, binlog::RecordState::buried));
  }
  std::string bytes = log.bytes();
  spoil_head(bytes);
  bytes.replace(2 * kSector, kSector, other.bytes().substr(2 * kSector, kSector));
  SeedSearch search(bytes);
  EXPECT_EQ(search.run(), seed_of_file(5));
  EXPECT_GE(search.sectors_of(seed_of_file(5)), 4U);
  EXPECT_LE(search.sectors_of(seed_of_file(6)), 2U);
}

TEST(SeedSearch, RecordsSpeakAgainstASignature) {
  LogMaker log = file_of(5);
  while (log.bytes().size() < 2000) log.add(full_record(1, "mail", "hello\r\n"));
  SeedSearch agreeing(log.bytes());
  agreeing.count_signature(seed_of_file(5));
  EXPECT_FALSE(agreeing.run_without(seed_of_file(5)));
  SeedSearch speaking(log.bytes());
  speaking.count_signature(seed_of_file(8));
  EXPECT_EQ(speaking.run_without(seed_of_file(8)), seed_of_file(5));
  EXPECT_GT(speaking.sectors_of(seed_of_file(5)), speaking.sectors_of(seed_of_file(8)));
}

// An earlier version has set the file aside, and has given the folder a new id.
TEST_F(Guesses, AFileThatIsOlderThanTheFoldersIdIsTakenByItsName) {
  put(2, known_file(2, haricot::binlog::kIdMadeAnew | kElsewhere));
  disk_.put("binlog.1.aside.1", headless(known_file(1)));
  run();
  EXPECT_EQ(fact(0).identity.kind, FileKind::checked) << told();
  EXPECT_NE(told().find("binlog.1.aside.1 is taken for binlog.1"), std::string::npos) << told();
}

using Stores = std::vector<std::uint64_t>;

FileFacts file_of_store(std::uint64_t store_id) {
  FileFacts file;
  file.identity.store_id = store_id;
  if (store_id != 0) file.identity.signature = Signature{.store_id = store_id};
  return file;
}

struct StoreRow {
  const char* what;
  Stores files;  // 0: the signature is damaged, or it is of beanstalkd.
  std::uint64_t noted;
  Stores expected;
};

TEST(LikelyStores, AreThoseOfTheNoteOrOfMostFiles) {
  const std::vector<StoreRow> rows = {
      {"nothing is there", {}, 0, {}},
      {"the note alone", {}, 5, {5}},
      {"no file tells, the note does", {0, 0}, 5, {5}},
      {"nothing tells", {0}, 0, {}},
      {"all say the same", {5, 0, 5}, 0, {5}},
      {"and the note another", {5, 5}, 6, {5}},
      {"most", {5, 6, 5}, 0, {5}},
      {"as many", {5, 6}, 0, {5, 6}},
      {"as many, the newest last", {6, 5, 5, 6}, 0, {5, 6}},
      {"the note decides", {6, 6, 5}, 5, {5}},
      {"the note knows none of them", {5, 6}, 7, {5, 6}},
  };
  for (const StoreRow& row : rows) {
    std::vector<FileFacts> files;
    for (const std::uint64_t store_id : row.files) files.push_back(file_of_store(store_id));
    EXPECT_EQ(likely_stores(files, {.store_id = row.noted}), row.expected) << row.what;
  }
}

}  // namespace
}  // namespace haricot::tool
