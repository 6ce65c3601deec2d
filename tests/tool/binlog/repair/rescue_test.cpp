#include "tool/binlog/repair/rescue.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "haricot/binlog/binlog.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/write/segment_writer.hpp"
#include "support/log_maker.hpp"
#include "support/sim_disk.hpp"

namespace haricot::tool {
namespace {

using haricot::binlog::Binlog;
using haricot::binlog::binlog_file_name;
using haricot::binlog::DiskCall;
using haricot::binlog::FileFacts;
using haricot::binlog::FileKind;
using haricot::binlog::FolderFacts;
using haricot::binlog::FolderNote;
using haricot::binlog::LogMaker;
using haricot::binlog::PlannedFile;
using haricot::binlog::Problem;
using haricot::binlog::Segments;
using haricot::binlog::Signature;
using haricot::binlog::SimDisk;

constexpr std::uint64_t kSorted = 7;
constexpr std::uint64_t kSortedElsewhere = 8;

FileFacts sorted_file_of_kind(std::uint64_t name, FileKind kind) {
  FileFacts file{.name = binlog_file_name(name), .name_number = name};
  file.identity.kind = kind;
  return file;
}

// A file that says which one it is.
FileFacts sorted_ours(std::uint64_t name, std::uint64_t number, std::uint64_t store_id = kSorted,
                      std::uint32_t epoch = 0) {
  FileFacts file = sorted_file_of_kind(name, FileKind::checked);
  file.identity.number = number;
  file.identity.store_id = store_id;
  file.identity.signature =
      Signature{.file_number = number, .store_id = store_id, .run = 3, .epoch = epoch};
  return file;
}
FileFacts sorted_ours(std::uint64_t name) {
  return sorted_ours(name, name);
}
FileFacts sorted_of_epoch(std::uint64_t name, std::uint32_t epoch) {
  return sorted_ours(name, name, kSorted, epoch);
}
// One whose signature is damaged, and whose records fit its name.
FileFacts sorted_headless(std::uint64_t name) {
  FileFacts file = sorted_ours(name);
  file.identity.signature.reset();
  return file;
}
FileFacts sorted_unidentified(std::uint64_t name) {
  return sorted_file_of_kind(name, FileKind::unidentified);
}
FileFacts sorted_of_beanstalkd(std::uint64_t name) {
  return sorted_file_of_kind(name, FileKind::beanstalkd_v7);
}
FileFacts sorted_empty_file(std::uint64_t name) {
  return sorted_file_of_kind(name, FileKind::empty);
}

FolderFacts facts_of(std::vector<FileFacts> files, std::uint64_t noted_store = 0) {
  FolderFacts facts;
  facts.note.store_id = noted_store;
  facts.files = std::move(files);
  const std::vector<std::uint64_t> stores = likely_stores(facts.files, facts.note);
  facts.store_id = stores.empty() ? 0 : stores.back();
  return facts;
}

// "2 4" are read in this order; "4as3" is binlog.4 in the place of 3; "4?" counts if it is needed.
std::string sorted_order(const SortedFolder& folder) {
  std::string text;
  for (const PlannedFile& file : folder.plan.files) {
    if (!text.empty()) text += ' ';
    text += std::to_string(file.name_number);
    if (file.number != file.name_number) text += "as" + std::to_string(file.number);
    if (file.counts_if_needed) text += '?';
  }
  return text;
}

// Returns the decisions as a word and the numbers of the files.
std::string decisions_of(const SortedFolder& folder) {
  const std::vector<std::pair<std::string, std::string>> words = {
      {"number that no server gives", "misnamed"},
      {"in another folder", "foreign"},
      {"nothing shows which", "unidentified"},
      {"is a copy of ", "duplicate"},
      {"was written as ", "displaced"}};
  std::string text;
  for (const Problem& problem : folder.plan.problems) {
    if (!text.empty()) text += ", ";
    const std::string number = problem.file.substr(7);
    if (problem.kind == Problem::Kind::late) text += "late " + number + problem.other.substr(6);
    for (const auto& [part, word] : words) {
      const std::size_t at = problem.why.find(part);
      if (at == std::string::npos) continue;
      text += word + " " + number;
      const std::size_t other = problem.why.find("binlog.", at);
      if (other == std::string::npos) continue;
      text += " " + problem.why.substr(other + 7, problem.why.find(' ', other) - other - 7);
    }
  }
  for (char& letter : text) letter = letter == '.' ? ' ' : letter;
  return text;
}

struct SortedRow {
  const char* what;
  std::vector<FileFacts> files;
  std::uint64_t noted_store;
  const char* order;
  const char* decisions;
};

const std::vector<SortedRow> kSortedRows = {
    {"nothing there", {}, 0, "", ""},
    {"as a server leaves it",
     {sorted_ours(3), sorted_ours(4), sorted_ours(7)},
     kSorted,
     "3 4 7",
     ""},
    {"no note", {sorted_ours(3), sorted_ours(4)}, 0, "3 4", ""},
    {"a head is lost", {sorted_ours(3), sorted_headless(4)}, 0, "3 4", ""},
    {"only the note tells the folder", {sorted_headless(4)}, kSorted, "4", ""},
    {"beanstalkd between",
     {sorted_ours(1), sorted_of_beanstalkd(2), sorted_empty_file(3), sorted_ours(4)},
     0,
     "1 2 3 4",
     ""},
    {"exchanged",
     {sorted_ours(1), sorted_ours(2, 3), sorted_ours(3, 2), sorted_ours(4)},
     kSorted,
     "1 3as2? 2as3? 4",
     "displaced 3 2, displaced 2 3"},
    {"renamed behind the last", {sorted_ours(1), sorted_ours(9, 2)}, 0, "1 9as2?", "displaced 9 2"},
    {"renamed in front", {sorted_ours(1, 3), sorted_ours(2)}, 0, "2 1as3?", "displaced 1 3"},
    {"a copy", {sorted_ours(1), sorted_ours(2), sorted_ours(8, 1)}, 0, "1 2", "duplicate 8 1"},
    {"a copy in front of it", {sorted_ours(1, 2), sorted_ours(2)}, 0, "2", "duplicate 1 2"},
    {"two copies, and it is gone",
     {sorted_ours(8, 1), sorted_ours(9, 1)},
     0,
     "8as1?",
     "duplicate 9 8, displaced 8 1"},
    {"of another folder",
     {sorted_ours(1), sorted_ours(2), sorted_ours(3, 1, kSortedElsewhere)},
     0,
     "1 2",
     "foreign 3"},
    {"in the place of another",
     {sorted_ours(1), sorted_ours(2, 2, kSortedElsewhere), sorted_ours(3)},
     0,
     "1 3",
     "foreign 2"},
    {"the note decides",
     {sorted_ours(1), sorted_ours(2, 2, kSortedElsewhere)},
     kSorted,
     "1",
     "foreign 2"},
    {"the note knows neither",
     {sorted_ours(1), sorted_ours(2, 2, kSortedElsewhere)},
     99,
     "2",
     "foreign 1"},
    {"nothing decides", {sorted_ours(1), sorted_ours(2, 2, kSortedElsewhere)}, 0, "2", "foreign 1"},
    {"the note is of another folder than all files",
     {sorted_ours(1), sorted_ours(2)},
     kSortedElsewhere,
     "1 2",
     ""},
    {"nothing tells what one is",
     {sorted_ours(1), sorted_unidentified(2), sorted_ours(3)},
     0,
     "1 3",
     "unidentified 2"},
    {"nothing tells anything",
     {sorted_unidentified(1), sorted_unidentified(2)},
     0,
     "",
     "unidentified 1, unidentified 2"},
    {"beside one of beanstalkd",
     {sorted_of_beanstalkd(1), sorted_unidentified(2)},
     0,
     "1",
     "unidentified 2"},
    {"epochs that go on",
     {sorted_ours(1), sorted_of_epoch(2, 1), sorted_of_epoch(3, 2)},
     0,
     "1 2? 3",
     ""},
    {"a late file",
     {sorted_of_epoch(1, 1), sorted_of_epoch(2, 2), sorted_of_epoch(3, 1), sorted_of_epoch(4, 1)},
     0,
     "1? 2",
     "late 3 2, late 4 2"},
    {"a head is lost in a folder of several servers",
     {sorted_of_epoch(1, 1), sorted_headless(2), sorted_empty_file(3), sorted_of_epoch(4, 2)},
     0,
     "1? 2? 3? 4",
     ""},
    {"a server without an epoch comes later",
     {sorted_of_epoch(1, 2), sorted_ours(2), sorted_of_epoch(3, 2)},
     0,
     "1 2 3",
     ""},
};

TEST(FolderSorting, ReadsFilesInTheirPlacesAndLeavesOthersOut) {
  for (const SortedRow& row : kSortedRows) {
    const SortedFolder folder = sort_files(facts_of(row.files, row.noted_store));
    EXPECT_EQ(folder.plan.refusal, "") << row.what;
    EXPECT_EQ(sorted_order(folder), row.order) << row.what;
    EXPECT_EQ(decisions_of(folder), row.decisions) << row.what;
  }
}

TEST(FolderSorting, ReportsFilesWhoseIdsAreInUseAndNamesThatAreTaken) {
  FolderFacts facts =
      facts_of({sorted_ours(1), sorted_ours(2), sorted_ours(5, 2),
                sorted_ours(6, 1, kSortedElsewhere), sorted_unidentified(7), sorted_ours(9, 3)});
  facts.misnamed = {"binlog.03"};
  SortedFolder folder = sort_files(facts);
  EXPECT_EQ(decisions_of(folder),
            "misnamed 03, foreign 6, unidentified 7, duplicate 5 2, displaced 9 3");
  std::string aside;
  for (const PlannedFile& file : folder.aside) aside += file.name.substr(7) + " ";
  EXPECT_EQ(aside, "7 5 ") << "ids of another folder do not count";
  EXPECT_EQ(folder.plan.highest_name, 9U);
  EXPECT_EQ(folder.highest_odd_name, 9U);
  folder = sort_files(facts_of({sorted_ours(1), sorted_ours(4, 1), sorted_ours(5)}));
  EXPECT_EQ(folder.highest_odd_name, 4U);
  folder = sort_files(facts_of({sorted_ours(1), sorted_ours(2)}));
  EXPECT_EQ(folder.highest_odd_name, 0U);
}

// Whole folders ----------------------------------------------------------------------------------

constexpr std::uint64_t kRescued = 99;
constexpr std::uint32_t kRunOfRescued = 3;

// Returns a file with those jobs, which follows the file `previous` (empty: none).
std::string rescued_file(std::uint64_t number, const std::vector<JobId>& ids,
                         const std::string& previous = {}, std::uint64_t store_id = kRescued) {
  Signature signature{.salt = binlog::salt_of(store_id, number),
                      .next_id = 1,
                      .file_number = number,
                      .store_id = store_id,
                      .run = kRunOfRescued,
                      .oldest_needed = 1,
                      .previous_number = static_cast<std::uint32_t>(number - 1)};
  if (!previous.empty()) {
    binlog::FileScan scan = binlog::scan_of(previous, number - 1);
    scan.run_to_end();
    signature.previous_bytes = scan.accepted_bytes();
    signature.previous_records = scan.records();
    signature.previous_digest = scan.digest();
  }
  LogMaker log(signature);
  for (const JobId id : ids) log.add(binlog::full_record(id, "mail", "hello\r\n"));
  return log.bytes();
}

// Returns the file without its signature.
std::string without_head(std::string bytes) {
  const std::string unreadable(binlog::kShortRecordBytes, '\xa5');
  return bytes.replace(binlog::kVersionBytes, unreadable.size(), unreadable);
}

class RescueTest : public ::testing::Test {
 protected:
  RescueTest()
      : journal_(disk_, {}),
        engine_(Instant::at(1), journal_),
        segments_(engine_.jobs()),
        rescue_(disk_, engine_, segments_) {}
  ~RescueTest() override {
    const std::uint64_t changes = disk_.calls(DiskCall::create) + disk_.calls(DiskCall::write) +
                                  disk_.calls(DiskCall::rename) + disk_.calls(DiskCall::remove);
    EXPECT_EQ(changes, 0U) << "the folder has changed";
  }

  void put(std::uint64_t number, const std::string& bytes) {
    disk_.put(binlog_file_name(number), bytes);
  }
  // Puts three files, each with a job.
  void put_three() {
    const std::string first = rescued_file(1, {1});
    const std::string second = rescued_file(2, {2}, first);
    files_ = {first, second, rescued_file(3, {3}, second)};
    for (std::uint64_t number = 1; number <= 3; ++number) put(number, files_[number - 1]);
  }
  bool run(std::vector<Guess>* guesses = nullptr, const FolderNote& note = {}) {
    return rescue_.run(note, Duration{}, Instant::at(1), guesses, error_);
  }
  const binlog::ReplayReport& report() const { return rescue_.report(); }
  bool has(JobId id) const { return engine_.peek(id) != JobRef::none; }
  // Returns the sentences of all problems.
  std::string told() const {
    std::string text;
    for (const Problem& problem : report().problems) text += to_sentence(problem) + "\n";
    return text;
  }
  bool tells(std::string_view part) const { return told().find(part) != std::string::npos; }

  SimDisk disk_;
  Binlog journal_;  // Never opened.
  Engine engine_;
  Segments segments_;
  Rescue rescue_;
  std::vector<std::string> files_;
  std::string error_;
};

TEST_F(RescueTest, ReadsAFolderInOrderWithoutADecision) {
  put_three();
  ASSERT_TRUE(run()) << error_;
  EXPECT_EQ(told(), "");
  EXPECT_TRUE(has(1) && has(2) && has(3));
  EXPECT_EQ(engine_.next_id(), 4U);
}

TEST_F(RescueTest, ReadsExchangedFilesInTheirPlaces) {
  put_three();
  disk_.put("binlog.1", files_[1]);
  disk_.put("binlog.2", files_[0]);
  ASSERT_TRUE(run()) << error_;
  EXPECT_TRUE(has(1) && has(2) && has(3));
  EXPECT_TRUE(tells("binlog.1 was written as binlog.2")) << told();
  EXPECT_TRUE(tells("binlog.2 was written as binlog.1")) << told();
  EXPECT_FALSE(report().is_sound());
}

TEST_F(RescueTest, CountsTheJobsThatAMissingFileMayHaveChanged) {
  put_three();
  disk_.take_away("binlog.2");
  ASSERT_TRUE(run()) << error_;
  EXPECT_TRUE(has(1) && !has(2) && has(3));
  EXPECT_TRUE(tells("binlog.2 is missing")) << told();
  EXPECT_TRUE(tells("up to 1 job may have come back")) << told();
}

TEST_F(RescueTest, FailsWhileAListedFileCannotBeFound) {
  put_three();
  // Each file is read twice: its ends, and then all of it.
  disk_.inject({.nth = 2, .call = DiskCall::read, .takes_file_away = true});
  EXPECT_FALSE(run());
  EXPECT_EQ(error_, "cannot find binlog.2, though the folder lists it");
}

TEST_F(RescueTest, FailsOnAnUnknownVersion) {
  put_three();
  put(4, std::string("\x09\0\0\0", 4) + std::string(200, 'x'));
  EXPECT_FALSE(run());
  EXPECT_NE(error_.find("binlog.4"), std::string::npos) << error_;
}

TEST_F(RescueTest, LeavesAFileOfAnotherFolderOut) {
  put_three();
  put(4, rescued_file(4, {70}, {}, kRescued + 1));
  ASSERT_TRUE(run()) << error_;
  EXPECT_TRUE(has(3) && !has(70));
  EXPECT_TRUE(tells("binlog.4")) << told();
}

// The file may have replaced the newest one.
TEST_F(RescueTest, DoubtsAllJobsIfTheNewestNameHasAnotherFile) {
  put_three();
  put(4, rescued_file(4, {70}, {}, kRescued + 1));
  ASSERT_TRUE(run()) << error_;
  EXPECT_TRUE(report().may_lack_newest);
  EXPECT_TRUE(tells("up to 3 jobs may have come back")) << told();
  EXPECT_GT(engine_.next_id(), binlog::ids_of_a_file(0));
}

TEST_F(RescueTest, SkipsTheIdsOfAFileThatItLeavesOut) {
  put_three();
  constexpr JobId kHigh = 5'000'000;
  put(4, without_head(rescued_file(9, {kHigh})));
  ASSERT_TRUE(run()) << error_;
  EXPECT_FALSE(has(kHigh));
  EXPECT_EQ(engine_.next_id(), kHigh + 1);
}

TEST_F(RescueTest, GuessesOnlyIfItIsAsked) {
  put(1, rescued_file(1, {1}));
  put(4, without_head(rescued_file(3, {3})));
  std::vector<Guess> guesses;
  ASSERT_TRUE(run(&guesses)) << error_;
  EXPECT_TRUE(has(3)) << told();
  ASSERT_EQ(guesses.size(), 1U);
  EXPECT_EQ(guesses[0].file, "binlog.4");
}

TEST_F(RescueTest, SkipsTheIdsOfAMissingFileIfTheNewestSignatureIsLost) {
  put_three();
  disk_.take_away("binlog.2");
  put(3, without_head(files_[2]));
  ASSERT_TRUE(run()) << error_;
  EXPECT_TRUE(has(1) && has(3)) << told();
  EXPECT_GT(engine_.next_id(), binlog::ids_of_a_file(0));
}

// A file of another folder may have replaced a newer one.
TEST_F(RescueTest, BelievesTheNoteAboutIdsIfTheNewestFileMayBeMissing) {
  put_three();
  put(4, rescued_file(4, {70}, {}, kRescued + 1));
  const FolderNote note{.store_id = kRescued,
                        .run = kRunOfRescued,
                        .run_before = kRunOfRescued,
                        .oldest_needed = 1,
                        .newest = 3,
                        .ids_end = 50'000'000};
  ASSERT_TRUE(run(nullptr, note)) << error_;
  EXPECT_EQ(engine_.next_id(), note.ids_end);
}

}  // namespace
}  // namespace haricot::tool
