#include "haricot/binlog/read/folder_plan.hpp"
#include "haricot/binlog/format/file_name.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "binlog/read/problem_name.hpp"

namespace haricot::binlog {
namespace {

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
