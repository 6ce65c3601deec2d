#include "haricot/binlog/read/folder_plan.hpp"
#include "haricot/binlog/format/file_name.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

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
  facts.stores = likely_stores(facts.files, facts.note);
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
    {"exchanged",
     {ours(1), ours(2, 3), ours(3, 2), ours(4)},
     kHere,
     "1 3as2? 2as3? 4",
     "displaced 3 2, displaced 2 3"},
    {"renamed behind the last", {ours(1), ours(9, 2)}, 0, "1 9as2?", "displaced 9 2"},
    {"renamed in front", {ours(1, 3), ours(2)}, 0, "2 1as3?", "displaced 1 3"},
    {"a copy", {ours(1), ours(2), ours(8, 1)}, 0, "1 2", "duplicate 8 1"},
    {"a copy in front of it", {ours(1, 2), ours(2)}, 0, "2", "duplicate 1 2"},
    {"two copies, and it is gone",
     {ours(8, 1), ours(9, 1)},
     0,
     "8as1?",
     "duplicate 9 8, displaced 8 1"},
    {"of another folder", {ours(1), ours(2), ours(3, 1, kElsewhere)}, 0, "1 2", "foreign 3"},
    {"in the place of another", {ours(1), ours(2, 2, kElsewhere), ours(3)}, 0, "1 3", "foreign 2"},
    {"the note decides", {ours(1), ours(2, 2, kElsewhere)}, kHere, "1", "foreign 2"},
    {"the note knows neither", {ours(1), ours(2, 2, kElsewhere)}, 99, "2", "foreign 1"},
    {"nothing decides", {ours(1), ours(2, 2, kElsewhere)}, 0, "2", "foreign 1"},
    {"the note is of another folder than all files", {ours(1), ours(2)}, kElsewhere, "1 2", ""},
    {"nothing identifies one", {ours(1), unidentified(2), ours(3)}, 0, "1 3", "unidentified 2"},
    {"nothing identifies any file",
     {unidentified(1), unidentified(2)},
     0,
     "",
     "unidentified 1, unidentified 2"},
    {"beside one of beanstalkd", {of_beanstalkd(1), unidentified(2)}, 0, "1", "unidentified 2"},
    {"consecutive epochs", {ours(1), of_epoch(2, 1), of_epoch(3, 2)}, 0, "1 2? 3", ""},
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

TEST(FolderPlan, SeparatesReadFilesFromOthers) {
  for (const PlanRow& row : kPlanRows) {
    const FolderPlan plan = plan_folder(facts_of(row.files, row.noted_store));
    EXPECT_EQ(plan.refusal, "") << row.what;
    EXPECT_EQ(order_of(plan), row.order) << row.what;
    EXPECT_EQ(problems_of(plan), row.problems) << row.what;
  }
}

TEST(FolderPlan, RefusesUnknownVersions) {
  FolderPlan plan = plan_folder(facts_of({ours(1), file_of_kind(2, FileKind::unknown_version)}));
  EXPECT_EQ(plan.refusal, "binlog.2 is of a version that is not known here");
  plan = plan_folder(facts_of({ours(1), ours(kFileNumberLast + 1)}));
  EXPECT_NE(plan.refusal.find("nearly used up"), std::string::npos);
  EXPECT_EQ(plan_folder(facts_of({ours(kFileNumberLast)})).refusal, "");
}

TEST(FolderPlan, KnowsUsedIdsAndNames) {
  FolderFacts facts =
      facts_of({ours(1), ours(2), ours(5, 2), ours(6, 1, kElsewhere), unidentified(7), ours(9, 3)});
  facts.misnamed = {"binlog.03"};
  FolderPlan plan = plan_folder(facts);
  EXPECT_EQ(problems_of(plan),
            "misnamed 03, foreign 6, unidentified 7, duplicate 5 2, displaced 9 3");
  std::string aside;
  for (const PlannedFile& file : plan.aside) aside += file.name.substr(7) + " ";
  EXPECT_EQ(aside, "7 5 ") << "ids of another folder do not count";
  EXPECT_EQ(plan.highest_name, 9U);
  EXPECT_EQ(plan.highest_odd_name, 9U);
  plan = plan_folder(facts_of({ours(1), ours(4, 1), ours(5)}));
  EXPECT_EQ(plan.highest_odd_name, 4U);
  plan = plan_folder(facts_of({ours(1), ours(2)}));
  EXPECT_EQ(plan.highest_odd_name, 0U);
}

TEST(FolderPlan, TheWitnessIsALaterFileThatKnowsTheEnd) {
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

TEST(FolderPlan, AFileLeftAsideLaterLeavesTheOrder) {
  FolderPlan plan = plan_folder(facts_of({ours(3), ours(4), ours(5)}));
  plan.leave_aside(1, Problem::Kind::contradicted, "binlog.5");
  EXPECT_EQ(order_of(plan), "3 5");
  EXPECT_EQ(problems_of(plan), "contradicted 4 5");
  EXPECT_EQ(plan.aside.size(), 1U);
  EXPECT_EQ(plan.highest_odd_name, 4U);
}

}  // namespace
}  // namespace haricot::binlog
