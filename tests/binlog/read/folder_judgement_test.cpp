#include "haricot/binlog/read/folder_judgement.hpp"
#include "haricot/binlog/format/file_identity.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "binlog/read/problem_name.hpp"

namespace haricot::binlog {
namespace {

constexpr std::uint64_t kStoreJudged = 7;
constexpr JobId kNextIdRead = 100;
constexpr std::uint64_t kFileOfIds = ids_of_a_file(0);

// A folder of three files, each of which states the end of the one before: sealed, whole, with four
// jobs. A server was stopped after the last one.
struct JudgedFolder {
  JudgedFolder() {
    plan.store_id = kStoreJudged;
    read.next_id = kNextIdRead;
    for (std::uint64_t number = 4; number <= 6; ++number) add(number);
    read.files.back().has_stop_in_seal = true;
    read.oldest_needed = 4;
  }

  void add(std::uint64_t number) {
    PlannedFile file;
    file.name = binlog_file_name(number);
    file.name_number = file.number = number;
    file.identity = {.kind = FileKind::checked, .signature = {}, .number = number};
    file.identity.store_id = kStoreJudged;
    file.identity.signature = Signature{.file_number = number,
                                        .store_id = kStoreJudged,
                                        .run = 3,
                                        .oldest_needed = 4,
                                        .previous_number = static_cast<std::uint32_t>(number - 1),
                                        .previous_bytes = 900,
                                        .previous_records = 20};
    plan.highest_name = number;
    FileReport report{file};
    report.bytes = report.accepted_bytes = 984;
    report.records = report.records_counted = 20;
    report.has_known_end = report.is_sealed = true;
    report.states_end_of_previous = number > 4;
    report.live_jobs = 4;
    read.files.push_back(report);
  }
  void remove(std::size_t index) {
    read.files.erase(read.files.begin() + static_cast<std::ptrdiff_t>(index));
    plan.highest_name = read.files.empty() ? 0 : read.files.back().number;
  }
  void lose_head(std::size_t index) {
    read.files[index].identity.signature.reset();
    read.files[index].states_end_of_previous = false;
    read.files[index].damages = {{.offset = 0, .bytes = 88}};
  }
  // Leaves only zeros in a file.
  void empty(std::size_t index) {
    PlannedFile file = read.files[index];
    file.identity = {};
    read.files[index] = {file};
  }
  // Leaves only zeros in a file; the file after it states that it had records.
  void lose_records(std::size_t index) {
    empty(index);
    read.files[index].records = 20;
    read.files[index].is_head_torn = read.files[index].has_known_end = true;
    read.files[index].torn = {.offset = 0, .bytes = 900};
  }
  void note(std::uint32_t newest, std::uint32_t run = 3, std::uint32_t run_before = 3) {
    plan.note = {.store_id = kStoreJudged, .run = run, .run_before = run_before};
    plan.note.newest = newest;
    plan.note.ids_end = 5000;
  }

  FolderPlan plan;
  FolderRead read;
};

std::string judged_problems(const ReplayReport& report) {
  std::string text;
  for (const Problem& problem : report.problems) {
    if (!text.empty()) text += ", ";
    text += std::string(name_of(problem.kind)) + " " + problem.file;
    if (problem.jobs > 0) text += " " + std::to_string(problem.jobs);
  }
  return text;
}

struct JudgedRow {
  const char* what;
  std::function<void(JudgedFolder&)> change;
  const char* problems;
  JobId next_id;
  std::uint64_t highest_number;
};

const std::vector<JudgedRow> kJudgedRows = {
    {"as a server leaves it", [](JudgedFolder&) {}, "", kNextIdRead, 6},
    {"with its note", [](JudgedFolder& f) { f.note(6); }, "", kNextIdRead, 6},
    {"killed", [](JudgedFolder& f) { f.read.files[2].is_sealed = false; }, "", kNextIdRead, 6},
    {"nothing there", [](JudgedFolder& f) { f.read.files.clear(); }, "", kNextIdRead, 6},
    {"one in the middle is missing", [](JudgedFolder& f) { f.remove(1); }, "file-unfit binlog.5",
     kNextIdRead, 6},
    {"the first is missing", [](JudgedFolder& f) { f.remove(0); }, "file-unfit binlog.4",
     kNextIdRead, 6},
    {"the first is not needed",
     [](JudgedFolder& f) {
       f.remove(0);
       f.read.oldest_needed = 5;
     },
     "", kNextIdRead, 6},
    {"the newest is missing, as the seal says", [](JudgedFolder& f) { f.remove(2); },
     "in-doubt binlog.6 8", kNextIdRead + kFileOfIds, 6},
    {"and as the note says",
     [](JudgedFolder& f) {
       f.remove(2);
       f.note(6);
     },
     "file-unfit binlog.6", kNextIdRead + kFileOfIds, 6},
    {"all are missing",
     [](JudgedFolder& f) {
       for (int i = 0; i < 3; ++i) f.remove(0);
       f.note(6);
     },
     "file-unfit binlog.6", kNextIdRead + kFileOfIds, 6},
    {"all are missing, and there were none",
     [](JudgedFolder& f) {
       for (int i = 0; i < 3; ++i) f.remove(0);
       f.note(0, 3, 0);
     },
     "", 5000, 0},
    {"a stretch is damaged in the middle",
     [](JudgedFolder& f) {
       f.read.files[1].damages = {{.offset = 88, .bytes = 200, .records = 2, .changes = 2}};
     },
     "damaged binlog.5, in-doubt binlog.5 2", kNextIdRead, 6},
    {"in the newest, whose ids are unknown",
     [](JudgedFolder& f) {
       f.read.files[2].damages = {{.offset = 88, .bytes = 200, .records = 2}};
     },
     "damaged binlog.6", kNextIdRead + 2, 6},
    {"torn", [](JudgedFolder& f) { f.read.files[2].torn = {.offset = 900, .bytes = 80}; },
     "torn binlog.6", kNextIdRead + 1, 6},
    {"a body is lost",
     [](JudgedFolder& f) {
       f.read.files[0].lost_jobs = {{9, 88}};
     },
     "job-lost binlog.4", kNextIdRead, 6},
    {"records of beanstalkd after damage", [](JudgedFolder& f) { f.read.files[0].unproven = 3; },
     "unproven binlog.4 3", kNextIdRead, 6},
    {"the head of the second",
     [](JudgedFolder& f) {
       f.lose_head(1);
       f.read.files[0].has_known_end = true;
     },
     "damaged binlog.5", kNextIdRead, 6},
    {"and the end of the first is not known any more",
     [](JudgedFolder& f) {
       f.lose_head(1);
       f.read.files[0].is_sealed = f.read.files[0].has_known_end = false;
     },
     "in-doubt binlog.4 4, damaged binlog.5", kNextIdRead, 6},
    {"the newest is empty",
     [](JudgedFolder& f) {
       f.empty(2);
       f.read.files[1].has_stop_in_seal = true;
     },
     "damaged binlog.6, in-doubt binlog.6 8", kNextIdRead + kFileOfIds, 6},
    {"one is empty and the next has lost its records, but a later one tells the ids",
     [](JudgedFolder& f) {
       f.add(7);
       f.empty(1);
       f.lose_records(2);
     },
     "torn binlog.6, damaged binlog.5, in-doubt binlog.5 4, in-doubt binlog.8 8",
     kNextIdRead + kFileOfIds, 8},
    {"and a server was stopped after that one",
     [](JudgedFolder& f) {
       f.add(7);
       f.read.files[3].has_stop_in_seal = true;
       f.empty(1);
       f.lose_records(2);
     },
     "torn binlog.6, damaged binlog.5, in-doubt binlog.5 4", kNextIdRead, 7},
    {"and all of it was lost with the power",
     [](JudgedFolder& f) {
       f.add(7);
       f.add(8);
       f.read.files[3].identity.signature->run = 1;
       f.read.files[3].marks.has_some = true;
       f.read.files[4].has_stop_in_seal = true;
       f.empty(1);
       f.lose_records(2);
       f.note(8);
     },
     "torn binlog.6", kNextIdRead, 8},
    {"the note knows more of it",
     [](JudgedFolder& f) {
       f.note(6);
       f.read.files[2].is_cut = true;
     },
     "in-doubt binlog.6 12", 5000, 6},
    {"another run has begun it", [](JudgedFolder& f) { f.note(6, 8, 9); }, "file-unfit binlog.6",
     kNextIdRead + kFileOfIds, 6},
    {"the run that it was found by, which knew of ids that no file tells",
     [](JudgedFolder& f) { f.note(6, 8, 3); }, "", 5000, 6},
    {"the newest is of beanstalkd, though the note has one of the last run",
     [](JudgedFolder& f) {
       f.note(6);
       f.read.files[2].identity = {};
       f.read.files[2].identity.kind = FileKind::beanstalkd_v7;
     },
     "file-unfit binlog.6", kNextIdRead + kFileOfIds, 6},
    {"the next file was begun after another one",
     [](JudgedFolder& f) { f.read.files[1].contradicts_next = true; }, "file-unfit binlog.5",
     kNextIdRead, 6},
    {"read in another place",
     [](JudgedFolder& f) {
       f.read.files[2].number = 8;
       f.read.files[2].identity.signature->previous_number = 5;
     },
     "", kNextIdRead, 8},
};

TEST(FolderJudgement, ReportsProblemsAndFreeIdsAndNumbers) {
  for (const JudgedRow& row : kJudgedRows) {
    JudgedFolder folder;
    row.change(folder);
    const ReplayReport report = judge_folder(folder.plan, folder.read);
    EXPECT_EQ(judged_problems(report), row.problems) << row.what;
    EXPECT_EQ(report.next_id, row.next_id) << row.what;
    EXPECT_EQ(report.highest_number, row.highest_number) << row.what;
    const bool has_damage = !report.warnings().empty();
    EXPECT_EQ(report.is_sound(), !has_damage) << row.what;
  }
}

TEST(FolderJudgement, CountsLostRecordsOnce) {
  JudgedFolder folder;
  folder.read.files[0].damages = {{.offset = 88, .bytes = 200, .records = 2}};
  EXPECT_EQ(judge_folder(folder.plan, folder.read).records_lost, 2U);
  folder.read.lost_before = 5;
  EXPECT_EQ(judge_folder(folder.plan, folder.read).records_lost, 5U);
}

TEST(FolderJudgement, ReportsTheRunOfTheNewestFileWithRecords) {
  JudgedFolder folder;
  folder.read.files[1].identity.signature->run = 8;
  folder.read.files[2].records = folder.read.files[2].records_counted = 0;
  EXPECT_EQ(judge_folder(folder.plan, folder.read).run, 8U);
}

// Numbers below skipped files are not missing.
TEST(FolderJudgement, AFileThatIsNotNeededIsNotMissing) {
  JudgedFolder folder;
  folder.remove(1);
  folder.read.passed_over_below = 6;
  EXPECT_EQ(judged_problems(judge_folder(folder.plan, folder.read)), "");
}

// Durability of a file ---------------------------------------------------------------------------

MarksRead marks(std::uint64_t bytes, bool has_past = true) {
  return {.has_durable_past = has_past, .durable_bytes = bytes, .has_some = true};
}

FileReport file_of_run(std::uint32_t run, MarksRead read) {
  FileReport file;
  file.identity.kind = FileKind::checked;
  file.identity.signature = Signature{.run = run};
  file.marks = read;
  return file;
}

struct Known {
  const char* what;
  std::vector<FileReport> files;
  std::uint64_t bytes;
};

TEST(DurableBytes, FollowFromTheFilesOfTheRun) {
  constexpr std::uint64_t kAll = kDurableBytesEnd;
  const FileReport own = file_of_run(1, marks(500));
  FileReport as_stated = own;
  as_stated.ends_as_next_states = true;
  FileReport stopped = own;
  stopped.has_stop_in_note = true;
  FileReport of_no_run = file_of_run(0, marks(500));
  of_no_run.ends_as_next_states = true;
  FileReport of_beanstalkd;
  of_beanstalkd.identity.kind = FileKind::beanstalkd_v7;
  const auto next = [](std::uint32_t run, MarksRead read) {
    FileReport file = file_of_run(run, read);
    file.states_end_of_previous = true;
    return file;
  };
  const FileReport unsynced = next(1, marks(0, false));
  FileReport last = unsynced;
  last.has_stop_in_note = true;
  const Known table[] = {
      {"the newest file", {own}, 500},
      {"one that the note knows to the end", {stopped}, kAll},
      {"one of an earlier version", {file_of_run(1, {.lacks_some = true})}, kAll},
      {"one that states nothing", {file_of_run(1, {})}, 0},
      {"the same run continues, and nothing is durable", {own, unsynced}, 500},
      {"a later file of the run is durable", {own, next(1, marks(0))}, kAll},
      {"one after that", {own, unsynced, next(1, marks(90))}, kAll},
      {"a server was stopped after one of the run", {own, unsynced, last}, kAll},
      {"the next one does not know it", {own, file_of_run(1, marks(90))}, 500},
      {"beanstalkd came next, and states nothing", {own, of_beanstalkd}, kAll},
      {"the next run found it so", {as_stated, next(2, marks(90))}, 500},
      {"the next run found it otherwise", {own, next(2, marks(90))}, kAll},
      {"its run is unknown, and the next run found it so", {of_no_run, next(2, marks(90))}, 500},
  };
  for (const Known& known : table) {
    EXPECT_EQ(durable_bytes_of(known.files, 0), known.bytes) << known.what;
  }
}

}  // namespace
}  // namespace haricot::binlog
