#include "haricot/binlog/read/folder_plan.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "binlog/binlog_world.hpp"
#include "binlog/read/problem_name.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "support/log_maker.hpp"

namespace haricot::binlog {
namespace {

FileFacts file_of(std::uint64_t store_id) {
  FileFacts file;
  file.identity.store_id = store_id;
  if (store_id != 0) file.identity.signature = Signature{.store_id = store_id};
  return file;
}

struct NoteRow {
  const char* what;
  std::uint32_t run;                  // Run in the note.
  std::vector<std::uint32_t> epochs;  // Epochs of the files; 0: none.
  std::uint32_t epoch;                // Epoch of the server.
  bool is_trusted;
};

TEST(TrustedNote, BelongsToTheLastServerWithAFile) {
  constexpr std::uint32_t kHigh = 2 * kRunsEnd - 1;  // Its successor begins the runs again.
  const std::vector<NoteRow> rows = {
      {"no epoch anywhere", 4711, {0, 0}, 0, true},
      {"the first epoch", 4711, {0, 0}, 1, true},
      {"that of the last epoch", 3, {1, 0, 3}, 4, true},
      {"that of a lower one, written late", 2, {1, 3, 3}, 4, false},
      {"of a lower one, and the file of the last comes first", 2, {3, 1}, 4, false},
      {"the last but one has not got as far as a note", 3, {3}, 5, true},
      {"the last has noted, and has no file", 4, {3}, 5, true},
      {"that of a server without an epoch", 4711, {3}, 5, false},
      {"its own epoch", 5, {3}, 5, false},
      {"runs that begin again", 2, {kHigh}, kHigh + 4, true},
      {"runs that begin again, and an old one", run_of_epoch(kHigh) - 1, {kHigh}, kHigh + 4, false},
      {"whoever only looks believes all", 2, {3}, 0, true},
  };
  for (const NoteRow& row : rows) {
    std::vector<FileFacts> files;
    for (const std::uint32_t epoch : row.epochs) {
      files.push_back(file_of(77));
      files.back().identity.signature->epoch = epoch;
    }
    const FolderNote note{.store_id = 77, .run = row.run, .newest = 5};
    const FolderNote trusted = trusted_note(note, files, row.epoch);
    EXPECT_EQ(trusted, row.is_trusted ? note : FolderNote{.store_id = 77}) << row.what;
  }
}

// A folder of five files of one server. Tests put files into wrong places.
class Facts : public ::testing::Test {
 protected:
  Facts() {
    SimDisk disk;
    World world(disk, kSmallFiles);
    while (world.binlog.numbers().current_index < 5) {
      world.put({.body_bytes = 600});
      world.end_turn();
    }
    EXPECT_TRUE(world.close());
    for (std::uint64_t n = 1; n <= 5; ++n) disk_.put(name(n), disk.bytes_of(name(n)));
    gather();
    store_id_ = facts_.store_id;
  }

  static std::string name(std::uint64_t number) { return binlog_file_name(number); }
  void gather(const FolderNote& note = {}) {
    facts_ = {};
    std::string error;
    const std::uint64_t before = disk_.calls(DiskCall::read);
    EXPECT_TRUE(gather_facts(disk_, note, 0, facts_, error)) << error;
    whole_reads_ = disk_.calls(DiskCall::read) - before;
  }
  const FileIdentity& identity(std::uint64_t number) const {
    return facts_.files[number - 1].identity;
  }

  SimDisk disk_;
  FolderFacts facts_;
  std::uint64_t store_id_ = 0;
  std::uint64_t whole_reads_ = 0;
};

TEST_F(Facts, ASoundFolderNeedsNoWholeRead) {
  EXPECT_EQ(whole_reads_, 0U);
  ASSERT_EQ(facts_.files.size(), 5U);
  for (std::uint64_t n = 1; n <= 5; ++n) {
    EXPECT_EQ(facts_.files[n - 1].name, name(n));
    EXPECT_EQ(identity(n).number, n);
    EXPECT_EQ(identity(n).store_id, store_id_);
    ASSERT_TRUE(facts_.files[n - 1].seal) << n;
    EXPECT_EQ(facts_.files[n - 1].seal->clean_exit, n == 5);
  }
}

TEST_F(Facts, OtherNamesAreSeparated) {
  for (const char* other : {"binlog.7.tmp", "binlog.08", "binlog.0", "binlog.5.aside.1", "lock"}) {
    disk_.put(other, "x");
  }
  gather();
  EXPECT_EQ(facts_.files.size(), 5U);
  EXPECT_EQ(facts_.spares, std::vector<std::string>{"binlog.7.tmp"});
  EXPECT_EQ(facts_.misnamed, (std::vector<std::string>{"binlog.0", "binlog.08"}));
}

TEST_F(Facts, AFileWithoutASignatureIsIdentifiedByTheFolder) {
  disk_.zero(name(3), 0, 512);
  gather();
  EXPECT_EQ(whole_reads_, 1U);
  EXPECT_EQ(identity(3).kind, FileKind::checked);
  EXPECT_EQ(identity(3).number, 3U);
  EXPECT_FALSE(identity(3).signature);
  EXPECT_TRUE(facts_.files[2].seal);
}

TEST_F(Facts, AFileInAnUnknownFolderIsUnidentified) {
  for (std::uint64_t n = 1; n <= 5; ++n) disk_.zero(name(n), 0, 100);
  gather();
  for (std::uint64_t n = 1; n <= 4; ++n) EXPECT_EQ(identity(n).kind, FileKind::unidentified) << n;
  gather({.store_id = store_id_});
  for (std::uint64_t n = 1; n <= 5; ++n) EXPECT_EQ(identity(n).number, n);
}

TEST_F(Facts, AFileUnderAnotherNameIsIdentified) {
  disk_.put(name(9), disk_.bytes_of(name(2)));
  gather();
  EXPECT_EQ(facts_.files.back().name_number, 9U);
  EXPECT_EQ(facts_.files.back().identity.number, 2U);
  EXPECT_TRUE(facts_.files.back().identity.signature);
}

// A server that has ended a file has begun the next one, even if that is lost now.
TEST_F(Facts, AFileAfterASealIsOurs) {
  std::string bytes(200, '\0');
  bytes[0] = 7;
  LogMaker other(9);
  other.add(change_record(1, RecordState::deleted));
  bytes.replace(100, 84, other.bytes().substr(kFirstRecordOffset, 84));
  disk_.put(name(5), bytes);
  gather();
  EXPECT_EQ(identity(5).kind, FileKind::checked);
  disk_.zero(name(4), disk_.bytes_of(name(4)).size() - 84, 84);
  gather();
  EXPECT_EQ(identity(5).kind, FileKind::beanstalkd_v7);
  FolderNote note{.store_id = store_id_, .run = 1, .run_before = 1};
  note.newest = 5;
  gather(note);
  EXPECT_EQ(identity(5).kind, FileKind::checked) << "the note knows it";
}

TEST_F(Facts, FilesWithoutHeadsAreOursIfALaterStartReadThem) {
  const std::string begun = std::string(200, '\0') + std::string(600, 'x');
  // No file in front of them identifies the folder.
  for (const std::uint64_t n : {1U, 2U}) ASSERT_EQ(disk_.remove(name(n)), DiskStatus::ok);
  ASSERT_EQ(disk_.sync_folder(), DiskStatus::ok);
  disk_.put(name(3), begun);
  disk_.put(name(4), begun);
  gather({.store_id = store_id_});
  for (const std::size_t i : {0U, 1U}) {
    EXPECT_EQ(facts_.files[i].identity.kind, FileKind::checked) << i;
  }
  // The file in between may have lost its name.
  disk_.take_away(name(4));
  gather({.store_id = store_id_});
  EXPECT_EQ(facts_.files[0].identity.kind, FileKind::checked);
  disk_.put(name(4), begun);
  // Without a sound file after them, none of these files counts as ours.
  disk_.put(name(5), begun);
  gather({.store_id = store_id_});
  for (const std::size_t i : {0U, 1U, 2U}) {
    EXPECT_NE(facts_.files[i].identity.kind, FileKind::checked) << i;
  }
}

// A volume may do this if some of its replicas have lost power. The name still counts as taken.
TEST_F(Facts, AListedButMissingFileDoesNotExist) {
  for (const std::uint64_t nth : {1U, 5U}) {
    disk_.inject({.nth = nth, .call = DiskCall::read, .takes_file_away = true});
  }
  gather();
  ASSERT_EQ(facts_.files.size(), 3U);
  for (const std::size_t i : {0U, 1U, 2U}) {
    constexpr std::uint64_t kLeft[] = {2, 3, 4};
    EXPECT_EQ(facts_.files[i].name_number, kLeft[i]);
    EXPECT_EQ(facts_.files[i].identity.number, kLeft[i]);
  }
  EXPECT_EQ(facts_.listed_but_absent, (std::vector<std::uint64_t>{1, 5}));
  EXPECT_EQ(plan_folder(facts_).highest_name, 5U);
}

TEST_F(Facts, AFileThatVanishesBeforeItIsReadDoesNotExist) {
  disk_.put(name(9), disk_.bytes_of(name(2)));  // Read whole, because its name is another one.
  constexpr std::uint64_t kReadsOfEnds = 6;
  disk_.inject({.nth = kReadsOfEnds + 1, .call = DiskCall::read, .takes_file_away = true});
  gather();
  EXPECT_EQ(facts_.files.size(), 5U);
  EXPECT_EQ(facts_.listed_but_absent, std::vector<std::uint64_t>{9});
  EXPECT_EQ(plan_folder(facts_).highest_name, 9U);
}

TEST_F(Facts, AnUnreadableFileIsAFailure) {
  disk_.inject({.nth = 3, .call = DiskCall::read});
  FolderFacts facts;
  std::string error;
  EXPECT_FALSE(gather_facts(disk_, {}, 0, facts, error));
  EXPECT_EQ(error, disk_.last_error());
}

constexpr std::uint64_t kHere = 7;
constexpr std::uint64_t kElsewhere = 8;

FileFacts file_of_kind(std::uint64_t name, FileKind kind) {
  FileFacts file{.name = binlog_file_name(name), .name_number = name};
  file.identity.kind = kind;
  return file;
}

// Returns a file that states its identity.
FileFacts ours(std::uint64_t name, std::uint64_t number, std::uint64_t store_id = kHere,
               std::uint32_t epoch = 0) {
  FileFacts file = file_of_kind(name, FileKind::checked);
  file.identity.number = number;
  file.identity.store_id = store_id;
  file.identity.signature =
      Signature{.file_number = number, .store_id = store_id, .run = 3, .epoch = epoch};
  return file;
}
FileFacts ours(std::uint64_t name) {
  return ours(name, name);
}
FileFacts of_epoch(std::uint64_t name, std::uint32_t epoch) {
  return ours(name, name, kHere, epoch);
}
// Returns a file with a damaged signature, whose records fit its name.
FileFacts headless(std::uint64_t name) {
  FileFacts file = ours(name);
  file.identity.signature.reset();
  return file;
}
FileFacts unidentified(std::uint64_t name) {
  return file_of_kind(name, FileKind::unidentified);
}
FileFacts of_beanstalkd(std::uint64_t name) {
  return file_of_kind(name, FileKind::beanstalkd_v7);
}
FileFacts empty_file(std::uint64_t name) {
  return file_of_kind(name, FileKind::empty);
}

FolderFacts facts_of(std::vector<FileFacts> files, std::uint64_t noted_store = 0) {
  FolderFacts facts;
  facts.note.store_id = noted_store;
  facts.files = std::move(files);
  facts.store_id = noted_store;
  bool is_noted = false;
  for (const FileFacts& file : facts.files) {
    if (!file.has_signature() || is_noted) continue;
    facts.store_id = file.identity.store_id;
    is_noted = facts.store_id == noted_store;
  }
  return facts;
}

// Returns the files in the order in which they are read: "2 4". "4as3" is binlog.4 in the place of
// 3, and "4?" counts only if it is needed.
std::string order_of(const FolderPlan& plan) {
  std::string text;
  for (const PlannedFile& file : plan.files) {
    if (!text.empty()) text += ' ';
    text += std::to_string(file.name_number);
    if (file.number != file.name_number) text += "as" + std::to_string(file.number);
    if (file.counts_if_needed) text += '?';
  }
  return text;
}
std::string problems_of(const FolderPlan& plan) {
  std::string text;
  for (const Problem& problem : plan.problems) {
    if (!text.empty()) text += ", ";
    text += std::string(name_of(problem.kind)).substr(5) + " " + problem.file.substr(7);
    if (!problem.other.empty()) text += " " + problem.other.substr(7);
  }
  return text;
}

struct PlanRow {
  const char* what;
  std::vector<FileFacts> files;
  std::uint64_t noted_store;
  const char* order;
  const char* problems;
};

const std::vector<PlanRow> kPlanRows = {
    {"nothing there", {}, 0, "", ""},
    {"as a server leaves it", {ours(3), ours(4), ours(7)}, kHere, "3 4 7", ""},
    {"no note", {ours(3), ours(4)}, 0, "3 4", ""},
    {"a head is lost", {ours(3), headless(4)}, 0, "3 4", ""},
    {"only the note identifies the folder", {headless(4)}, kHere, "4", ""},
    {"beanstalkd between", {ours(1), of_beanstalkd(2), empty_file(3), ours(4)}, 0, "1 2 3 4", ""},
    {"exchanged", {ours(1), ours(2, 3), ours(3, 2)}, kHere, "", "unfit 2, unfit 3"},
    {"a copy", {ours(1), ours(2), ours(8, 1)}, 0, "", "unfit 8"},
    {"of another folder", {ours(1), ours(2), ours(3, 1, kElsewhere)}, kHere, "", "unfit 3"},
    {"no note, and of another folder", {ours(1), ours(2, 2, kElsewhere)}, 0, "", "unfit 1"},
    {"the note is of another folder than all files", {ours(1), ours(2)}, kElsewhere, "1 2", ""},
    {"nothing tells what one is", {ours(1), unidentified(2), ours(3)}, 0, "", "unfit 2"},
    {"beside one of beanstalkd", {of_beanstalkd(1), unidentified(2)}, 0, "", "unfit 2"},
    {"epochs that go on", {ours(1), of_epoch(2, 1), of_epoch(3, 2)}, 0, "1 2? 3", ""},
    {"a late file",
     {of_epoch(1, 1), of_epoch(2, 2), of_epoch(3, 1), of_epoch(4, 1)},
     0,
     "1? 2",
     "late 3 2, late 4 2"},
    {"a head is lost in a folder of several servers",
     {of_epoch(1, 1), headless(2), empty_file(3), of_epoch(4, 2)},
     0,
     "1? 2? 3? 4",
     ""},
    {"a server without an epoch comes later",
     {of_epoch(1, 2), ours(2), of_epoch(3, 2)},
     0,
     "1 2 3",
     ""},
};

TEST(FolderPlan, HasTheFilesInOrderOrTheReasonsOfARefusal) {
  for (const PlanRow& row : kPlanRows) {
    const FolderPlan plan = plan_folder(facts_of(row.files, row.noted_store));
    EXPECT_EQ(plan.refusal, "") << row.what;
    EXPECT_EQ(problems_of(plan), row.problems) << row.what;
    if (refusal_of(plan.problems).empty()) {
      EXPECT_EQ(order_of(plan), row.order) << row.what;
    }
  }
}

TEST(FolderPlan, RefusesAFileWithANumberThatNoServerGives) {
  FolderFacts facts = facts_of({ours(1)});
  facts.misnamed = {"binlog.03"};
  EXPECT_EQ(problems_of(plan_folder(facts)), "unfit 03");
}

TEST(FolderPlan, RefusesWhatNobodyKnows) {
  FolderPlan plan = plan_folder(facts_of({ours(1), file_of_kind(2, FileKind::unknown_version)}));
  EXPECT_EQ(plan.refusal, "binlog.2 is of a version that is not known here");
  plan = plan_folder(facts_of({ours(1), ours(kFileNumberLast + 1)}));
  EXPECT_NE(plan.refusal.find("nearly used up"), std::string::npos);
  EXPECT_EQ(plan_folder(facts_of({ours(kFileNumberLast)})).refusal, "");
}

TEST(FolderPlan, TheWitnessIsTheFileAfterItThatKnowsItsEnd) {
  FolderFacts facts = facts_of({ours(3), ours(4), ours(9)});
  facts.files[1].identity.signature->oldest_needed = 3;
  facts.files[1].identity.signature->previous_number = 3;
  facts.files[1].identity.signature->previous_bytes = 500;
  const FolderPlan plan = plan_folder(facts);
  ASSERT_NE(plan.witness_of(0), nullptr);
  EXPECT_EQ(plan.witness_of(0)->previous_bytes, 500U);
  EXPECT_EQ(plan.witness_of(1), nullptr) << "it does not say";
  EXPECT_EQ(plan.witness_of(2), nullptr) << "there is none";
}

}  // namespace

}  // namespace haricot::binlog
