#include "tool/binlog/repair/rescue.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "haricot/binlog/format/file_identity.hpp"

namespace haricot::tool {
namespace {

using haricot::binlog::binlog_file_name;
using haricot::binlog::FileFacts;
using haricot::binlog::FileKind;
using haricot::binlog::FolderFacts;
using haricot::binlog::PlannedFile;
using haricot::binlog::Problem;
using haricot::binlog::Signature;

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

}  // namespace
}  // namespace haricot::tool
