#include "haricot/binlog/folder_survey.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "binlog_world.hpp"
#include "haricot/binlog/segment_writer.hpp"
#include "support/log_maker.hpp"

namespace haricot::binlog {
namespace {

// A folder of five files that a server has written; files can be put into wrong places.
class Survey : public ::testing::Test {
 protected:
  Survey() {
    SimDisk disk;
    write(disk);
    for (std::uint64_t n = 1; n <= kFiles; ++n) {
      disk_.put(binlog_file_name(n), disk.bytes_of(binlog_file_name(n)));
    }
  }

  static constexpr std::uint64_t kFiles = 5;

  static void write(SimDisk& disk, std::uint64_t files = kFiles) {
    World world(disk, kSmallFiles);
    while (world.binlog.numbers().current_index < files) {
      world.put({.body_bytes = 600});
      world.end_turn();
    }
    EXPECT_TRUE(world.close());
  }

  std::string file(std::uint64_t number) { return disk_.bytes_of(binlog_file_name(number)); }

  // Surveys these names. Each problem as "kind file other".
  void survey(const std::vector<std::uint64_t>& names, std::uint64_t remembered = 0) {
    FolderSurvey survey(disk_, names, remembered);
    std::string error;
    ASSERT_TRUE(survey.run(error)) << error;
    order_.clear();
    problems_.clear();
    for (const PlannedFile& planned : survey.files()) order_.push_back(planned.name_number);
    for (const Problem& problem : survey.problems()) {
      problems_.push_back(std::string(name_of(problem.kind)) + " " + problem.file +
                          (problem.other.empty() ? "" : " " + problem.other));
    }
    std::sort(problems_.begin(), problems_.end());
    store_id_ = survey.store_id();
    highest_id_aside_ = survey.highest_id_aside();
  }

  using Numbers = std::vector<std::uint64_t>;
  using Texts = std::vector<std::string>;

  SimDisk disk_;
  Numbers order_;
  Texts problems_;
  std::uint64_t store_id_ = 0;
  std::uint64_t highest_id_aside_ = 0;
};

TEST_F(Survey, AFolderAsAServerLeavesItIsReadInOrder) {
  survey({1, 2, 3, 4, 5});
  EXPECT_EQ(order_, (Numbers{1, 2, 3, 4, 5}));
  EXPECT_EQ(problems_, Texts{});
  EXPECT_EQ(store_id_, identify_by_head(file(1))->store_id);
  EXPECT_EQ(highest_id_aside_, 0U);
}

TEST_F(Survey, TwoFilesThatWereExchangedAreReadInTheirPlaces) {
  const std::string second = file(2);
  disk_.put(binlog_file_name(2), file(4));
  disk_.put(binlog_file_name(4), second);
  survey({1, 2, 3, 4, 5});
  EXPECT_EQ(order_, (Numbers{1, 4, 3, 2, 5}));
  EXPECT_EQ(problems_,
            (Texts{"file-displaced binlog.2 binlog.4", "file-displaced binlog.4 binlog.2"}));
}

TEST_F(Survey, AFileThatStandsTwiceIsReadUnderItsRightName) {
  disk_.put(binlog_file_name(8), file(2));
  survey({1, 2, 3, 4, 5, 8});
  EXPECT_EQ(order_, (Numbers{1, 2, 3, 4, 5}));
  EXPECT_EQ(problems_, Texts{"file-duplicate binlog.8 binlog.2"});
  EXPECT_GT(highest_id_aside_, 0U) << "its ids are those of this folder";
}

TEST_F(Survey, AFileOfAnotherFolderIsLeftAsideAndItsIdsDoNotCount) {
  LogMaker stranger(3, salt_of(4711, 3));
  stranger.add(full_record(1'000'000, "mail", "hello\r\n"));
  disk_.put(binlog_file_name(6), stranger.bytes());
  survey({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(order_, (Numbers{1, 2, 3, 4, 5}));
  EXPECT_EQ(problems_, Texts{"file-foreign binlog.6"});
  EXPECT_EQ(highest_id_aside_, 0U);
}

TEST_F(Survey, AFileOfACopyOfTheFolderThatLivedOnApartIsLeftAside) {
  // The copy goes on from the second file with other jobs, and its fourth file comes back here.
  SimDisk copy;
  for (std::uint64_t n = 1; n <= 2; ++n) copy.put(binlog_file_name(n), file(n));
  World world(copy, kSmallFiles);
  while (world.binlog.numbers().current_index < kFiles + 1) {
    world.put({.body_bytes = 900});
    world.end_turn();
  }
  EXPECT_TRUE(world.close());
  ASSERT_TRUE(copy.has(binlog_file_name(4)));
  const std::string apart = copy.bytes_of(binlog_file_name(4));
  const auto identity = identify_by_head(apart);
  ASSERT_TRUE(identity);
  ASSERT_EQ(identity->store_id, identify_by_head(file(1))->store_id);
  ASSERT_EQ(identity->number, 4U);
  disk_.put(binlog_file_name(4), apart);
  survey({1, 2, 3, 4, 5});
  EXPECT_EQ(order_, (Numbers{1, 2, 3, 5}));
  EXPECT_EQ(problems_, Texts{"file-contradicted binlog.4 binlog.5"});
}

// Of two files one was replaced, and nothing else is known of the folder.
TEST_F(Survey, AFolderOfWhichNothingTellsWhichItIsIsToldAsSuch) {
  SimDisk other;
  write(other, 2);
  const std::uint64_t store_id = identify_by_head(file(1))->store_id;
  disk_.put(binlog_file_name(2), other.bytes_of(binlog_file_name(2)));
  survey({1, 2});
  EXPECT_EQ(problems_, Texts{"file-undecided binlog.1 binlog.2"});
  EXPECT_EQ(order_, Numbers{2});
  EXPECT_GT(highest_id_aside_, 0U) << "its ids may be those of this folder";
  // The note of the folder decides it.
  survey({1, 2}, store_id);
  EXPECT_EQ(problems_, Texts{"file-foreign binlog.2"});
  EXPECT_EQ(order_, Numbers{1});
}

TEST_F(Survey, AFolderIsTheOneOfWhichLessIsOdd) {
  SimDisk other;
  write(other);
  // As one of the other folder it would stand under another name, and another would be missing.
  disk_.put(binlog_file_name(2), other.bytes_of(binlog_file_name(1)));
  survey({1, 2});
  EXPECT_EQ(problems_, Texts{"file-foreign binlog.2"});
  EXPECT_EQ(order_, Numbers{1});
  // The last one of a server that was stopped needs no other after it.
  disk_.put(binlog_file_name(4), other.bytes_of(binlog_file_name(4)));
  survey({4, kFiles});
  EXPECT_EQ(problems_, Texts{"file-foreign binlog.4"});
  EXPECT_EQ(order_, Numbers{kFiles});
}

TEST_F(Survey, AFileWithoutItsSignatureKeepsItsPlace) {
  disk_.zero(binlog_file_name(3), 0, 512);
  survey({1, 2, 3, 4, 5});
  EXPECT_EQ(order_, (Numbers{1, 2, 3, 4, 5}));
  EXPECT_EQ(problems_, Texts{});
}

TEST_F(Survey, TheFolderIsTheOneOfMostFilesOrTheOneThatIsRemembered) {
  LogMaker stranger(7, salt_of(4711, 7));
  stranger.add(full_record(1, "mail", "hello\r\n"));
  const std::uint64_t here = identify_by_head(file(2))->store_id;
  disk_.put(binlog_file_name(6), stranger.bytes());
  survey({2, 6}, here);
  EXPECT_EQ(store_id_, here);
  EXPECT_EQ(order_, (Numbers{2}));
  survey({2, 6}, 99);  // LogMaker's signatures say so.
  EXPECT_EQ(store_id_, 99U);
  survey({1, 2, 6}, 99);
  EXPECT_EQ(store_id_, here);
}

TEST_F(Survey, AFileThatCannotBeReadEndsIt) {
  disk_.inject({.nth = 3, .call = DiskCall::read});
  FolderSurvey survey(disk_, {1, 2, 3, 4, 5}, 0);
  std::string error;
  EXPECT_FALSE(survey.run(error));
  EXPECT_EQ(error, disk_.last_error());
}

// A signature that says of the file before it what the scan of that file gives.
Signature signature_after(FileScan& scan, std::uint64_t number) {
  scan.run_to_end();
  Signature next;
  next.file_number = number + 1;
  next.oldest_needed = 1;
  next.previous_number = static_cast<std::uint32_t>(number);
  next.previous_bytes = scan.accepted_bytes();
  next.previous_records = scan.records();
  next.previous_digest = scan.digest();
  return next;
}

LogMaker file_with_six_jobs() {
  LogMaker log(5);
  for (std::uint64_t id = 1; id <= 6; ++id) log.add(full_record(id, "mail", "hello\r\n"));
  return log;
}

Link link_of(const std::string& bytes, const Signature& next) {
  const FileIdentity identity = identify(bytes, 5, {});
  FileScan scan(bytes, identity, next.previous_bytes);
  scan.run_to_end();
  return link_between(scan, next, bytes, identity);
}

TEST(Link, TellsDamageFromAnotherFile) {
  LogMaker log = file_with_six_jobs();
  const std::string whole = log.bytes();
  FileScan scan = scan_of(whole, 5);
  const Signature next = signature_after(scan, 5);
  EXPECT_EQ(link_of(whole, next), Link::good);

  std::string flipped = whole;
  flipped[log.offsets()[2] + 60] = static_cast<char>(flipped[log.offsets()[2] + 60] ^ 1);
  EXPECT_EQ(link_of(flipped, next), Link::damaged);
  EXPECT_EQ(link_of(whole.substr(0, log.offsets()[4]), next), Link::damaged) << "it was cut";

  LogMaker other(5);
  for (std::uint64_t id = 1; id <= 6; ++id) other.add(full_record(id, "mail", "HELLO\r\n"));
  ASSERT_EQ(other.bytes().size(), whole.size());
  EXPECT_EQ(link_of(other.bytes(), next), Link::broken);
}

TEST(Link, AWholeFileThatGoesOnBehindTheKnownEndIsAnotherOne) {
  LogMaker log = file_with_six_jobs();
  FileScan scan = scan_of(log.bytes(), 5);
  const Signature next = signature_after(scan, 5);
  // The known end stands in the middle of a record here.
  LogMaker longer(5);
  for (std::uint64_t id = 1; id <= 6; ++id) longer.add(full_record(id, "mail", "hello there\r\n"));
  EXPECT_EQ(link_of(longer.bytes(), next), Link::broken);
  // What a crash leaves behind the known end is no such thing.
  EXPECT_EQ(link_of(log.bytes() + longer.bytes().substr(kFirstRecordOffset, 40), next), Link::good);
}

TEST(Link, ASealedFileThatIsShorterIsAnotherOne) {
  LogMaker log = file_with_six_jobs();
  FileScan scan = scan_of(log.bytes(), 5);
  const Signature next = signature_after(scan, 5);
  LogMaker shorter(5);
  shorter.add(full_record(1, "mail", "hello\r\n"));
  shorter.seal();
  EXPECT_EQ(link_of(shorter.bytes(), next), Link::broken);
}

TEST(Link, OnlyTheFileBehindKnowsTheEnd) {
  Signature next;
  next.file_number = 7;
  next.oldest_needed = 2;
  next.previous_number = 5;  // 6 was never used.
  next.previous_bytes = 1000;
  EXPECT_TRUE(knows_end_of(next, 5));
  EXPECT_FALSE(knows_end_of(next, 6));
  next.previous_bytes = 0;
  EXPECT_FALSE(knows_end_of(next, 5)) << "begun behind a failure";
  next.previous_bytes = 1000;
  next.oldest_needed = 0;  // Of a version that did not tell: then it is the number before.
  EXPECT_FALSE(knows_end_of(next, 5));
  EXPECT_TRUE(knows_end_of(next, 6));
}

}  // namespace
}  // namespace haricot::binlog
