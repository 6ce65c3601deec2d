#include "tool/binlog/repair/rescue.hpp"

#include <algorithm>
#include <utility>

#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/read/file_scan.hpp"
#include "haricot/binlog/write/segment_writer.hpp"
#include "haricot/queue/job.hpp"

namespace haricot::tool {
namespace {

using haricot::binlog::binlog_file_name;
using haricot::binlog::DiskStatus;
using haricot::binlog::FileBytes;
using haricot::binlog::FileIdentity;
using haricot::binlog::FileKind;
using haricot::binlog::FileReport;
using haricot::binlog::FileScan;
using haricot::binlog::FolderFacts;
using haricot::binlog::FolderNote;
using haricot::binlog::FolderPlan;
using haricot::binlog::PlannedFile;
using haricot::binlog::Problem;
using haricot::binlog::Record;
using haricot::binlog::Signature;

void leave_out_foreign(SortedFolder& folder) {
  for (std::size_t i = 0; i < folder.plan.files.size();) {
    const FileIdentity& identity = folder.plan.files[i].identity;
    const bool is_ours =
        identity.kind != FileKind::checked || identity.store_id == folder.plan.store_id;
    if (identity.kind == FileKind::unidentified) {
      folder.leave_out(i, "is left out: nothing shows which file it is");
    } else if (is_ours) {
      ++i;
    } else {
      folder.leave_out(i, "was written in another folder and is left out");
    }
  }
}

// Leaves out all except the first of several checked files with the same number. Requires: the
// files are in order.
void leave_out_duplicates(SortedFolder& folder) {
  for (std::size_t i = 1; i < folder.plan.files.size();) {
    const PlannedFile& before = folder.plan.files[i - 1];
    const PlannedFile& file = folder.plan.files[i];
    if (file.kind() == FileKind::checked && before.kind() == FileKind::checked &&
        file.number == before.number) {
      folder.leave_out(i, "is a copy of " + before.name + " and is left out");
    } else {
      ++i;
    }
  }
}

// Returns true if the server that used the folder last was stopped after that file.
bool is_end_of_last_run(const FileReport& newest, const FolderNote& note, std::uint64_t store_id) {
  return newest.has_stop_in_seal && note.run != 0 && note.store_id == store_id &&
         newest.run() == note.run;
}

}  // namespace

void SortedFolder::leave_out(std::size_t index, std::string why) {
  const auto file = plan.files.begin() + static_cast<std::ptrdiff_t>(index);
  plan.problems.push_back(
      {.kind = Problem::Kind::unfit, .file = file->name, .why = std::move(why)});
  highest_odd_name = std::max(highest_odd_name, file->name_number);
  const bool is_of_folder =
      file->kind() != FileKind::checked || file->identity.store_id == plan.store_id;
  if (is_of_folder) aside.push_back(std::move(*file));
  plan.files.erase(file);
}

SortedFolder sort_files(const FolderFacts& facts) {
  SortedFolder folder;
  FolderPlan& plan = folder.plan;
  plan = haricot::binlog::begin_plan(facts);
  for (const std::string& name : facts.misnamed) {
    plan.problems.push_back({.kind = Problem::Kind::unfit,
                             .file = name,
                             .why = "has a number that no server gives and is not read"});
  }
  leave_out_foreign(folder);
  // If two files have the same number, the one with the right name comes first.
  std::stable_sort(plan.files.begin(), plan.files.end(),
                   [](const PlannedFile& a, const PlannedFile& b) {
                     return std::pair(a.number, a.number != a.name_number) <
                            std::pair(b.number, b.number != b.name_number);
                   });
  leave_out_duplicates(folder);
  haricot::binlog::set_late_aside(plan);
  for (const PlannedFile& file : plan.files) {
    if (file.number == file.name_number) continue;
    plan.problems.push_back(
        {.kind = Problem::Kind::unfit,
         .file = file.name,
         .why = "was written as " + binlog_file_name(file.number) + " and is read in its place"});
    folder.highest_odd_name = std::max(folder.highest_odd_name, file.name_number);
  }
  return folder;
}

// Checks the files from the last to the first, because a file that is left out proves nothing about
// the one before it.
bool leave_out_contradicted(binlog::Disk& disk, SortedFolder& folder, std::string& error) {
  FileBytes bytes;
  FolderPlan& plan = folder.plan;
  for (std::size_t i = plan.files.size(); i-- > 0;) {
    const PlannedFile& file = plan.files[i];
    const Signature* witness = plan.witness_of(i);
    if (witness == nullptr || file.kind() != FileKind::checked) continue;
    // Files of one run were begun by one server, so neither of them is from a copy of the folder.
    if (file.run() != 0 && file.run() == witness->run) continue;
    if (disk.read(file.name, bytes) != DiskStatus::ok) {
      error = disk.last_error();
      return false;
    }
    FileScan scan(bytes.view(), file.identity, witness->previous_bytes);
    scan.run_to_end();
    if (!scan.is_contradicted_by(*witness)) continue;
    const std::string next = plan.files[i + 1].name;
    folder.leave_out(i, "is not the file that " + next +
                            " followed: one of the two is from a copy of the folder; " + file.name +
                            " is left out");
  }
  if (!plan.files.empty()) {
    plan.may_lack_newest = folder.highest_odd_name > plan.files.back().name_number;
  }
  return true;
}

bool Rescue::run(const FolderNote& note, Duration wall_offset, Instant now,
                 std::vector<Guess>* guesses, std::string& error) {
  if (!gather(note, guesses, error)) return false;
  sorted_ = sort_files(facts_);
  error = sorted_.plan.refusal;
  if (!error.empty() || !leave_out_contradicted(disk_, sorted_, error)) return false;
  if (!replay_.read(sorted_.plan, wall_offset, now)) {
    error = replay_.error();
    return false;
  }
  report_ = replay_.report();
  if (!report_.missing_but_listed.empty()) {
    // A later try may find it.
    error = "cannot find " + binlog_file_name(report_.missing_but_listed.front()) +
            ", though the folder lists it";
    return false;
  }
  judge_missing();
  judge_odd_names();
  skip_lost_ids();
  if (!skip_ids_aside(error)) return false;
  if (!replay_.end(report_.next_id)) error = replay_.error();
  return error.empty();
}

bool Rescue::gather(const FolderNote& note, std::vector<Guess>* guesses, std::string& error) {
  if (!haricot::binlog::gather_facts(disk_, note, 0, facts_, error)) return false;
  const std::vector<std::uint64_t> stores = likely_stores(facts_.files, facts_.note);
  if (!stores.empty() && stores.back() != facts_.store_id) {
    facts_ = {};
    if (!haricot::binlog::gather_facts(disk_, note, 0, facts_, error, stores.back())) return false;
  }
  return guesses == nullptr || guess(disk_, facts_, *guesses, error);
}

// Skips the ids in files that are left out, because they were assigned.
bool Rescue::skip_ids_aside(std::string& error) {
  FileBytes bytes;
  const auto skip = [this](const Record& record) {
    if (record.id <= kJobIdLast) report_.next_id = std::max(report_.next_id, record.id + 1);
  };
  for (const PlannedFile& file : sorted_.aside) {
    if (disk_.read(file.name, bytes) != DiskStatus::ok) {
      error = disk_.last_error();
      return false;
    }
    FileScan scan(bytes.view(), file.identity);
    while (const FileScan::Found* const found = scan.next()) skip(found->record);
    if (file.kind() != FileKind::unidentified) continue;
    for (std::size_t at = haricot::binlog::kVersionBytes;
         haricot::binlog::find_proven(bytes.view(), at); ++at) {
      skip(haricot::binlog::parse_record(bytes.view().substr(at))->record);
    }
  }
  return true;
}

// Adds the jobs in doubt: records of a missing file may have changed or deleted jobs of older
// files.
void Rescue::judge_missing() {
  for (const std::uint64_t number : report_.missing) {
    std::uint64_t changes = 0;
    for (const FileReport& file : report_.files) {
      const auto& signature = file.identity.signature;
      if (signature && signature->states_end_of(number)) changes = signature->previous_records;
    }
    haricot::binlog::add_doubt(report_, binlog_file_name(number), number, changes);
  }
  const bool is_known =
      std::any_of(report_.problems.begin(), report_.problems.end(),
                  [](const Problem& problem) { return problem.kind == Problem::Kind::in_doubt; });
  if (report_.may_lack_newest && !is_known && !report_.files.empty()) {
    const FileReport& newest = report_.files.back();
    haricot::binlog::add_doubt(report_, newest.name, newest.number, 0);
  }
}

// Adds the jobs in doubt if a file that is left out or displaced may have replaced the newest file.
void Rescue::judge_odd_names() {
  if (report_.files.empty() || report_.may_lack_newest) return;
  const FileReport& newest = report_.files.back();
  const bool is_last = is_end_of_last_run(newest, sorted_.plan.note, sorted_.plan.store_id);
  const std::uint64_t odd = sorted_.highest_odd_name;
  if (is_last || odd <= std::max(newest.name_number, newest.number)) return;
  report_.may_lack_newest = true;
  report_.skip_ids(haricot::binlog::ids_of_a_file(0));
  haricot::binlog::add_doubt(report_, binlog_file_name(odd), odd, 0);
}

// Skips the ids that a missing or unidentified file may have used. The signature of the newest file
// states the next id; if that signature is lost, the ids of one file are skipped. If the newest
// file may be missing, the bound in the note counts.
void Rescue::skip_lost_ids() {
  const bool is_one_missing =
      !report_.missing.empty() ||
      std::any_of(sorted_.aside.begin(), sorted_.aside.end(),
                  [](const PlannedFile& file) { return file.kind() == FileKind::unidentified; });
  const bool is_newest_headless =
      report_.files.empty() ||
      (!report_.files.back().has_signature() && report_.files.back().kind() == FileKind::checked);
  if (!report_.may_lack_newest && is_one_missing && is_newest_headless) {
    report_.skip_ids(haricot::binlog::ids_of_a_file(0));
  }
  if (report_.may_lack_newest && sorted_.plan.has_note()) {
    report_.next_id = std::max(report_.next_id, sorted_.plan.note.ids_end);
  }
}

}  // namespace haricot::tool
