#include "tool/binlog/repair/rescue.hpp"

#include <algorithm>
#include <utility>

#include "haricot/binlog/format/file_name.hpp"
#include "haricot/binlog/write/segment_writer.hpp"
#include "haricot/queue/job.hpp"

namespace haricot::tool {
namespace {

using haricot::binlog::binlog_file_name;
using haricot::binlog::DiskStatus;
using haricot::binlog::FileBytes;
using haricot::binlog::FileKind;
using haricot::binlog::FileReport;
using haricot::binlog::FileScan;
using haricot::binlog::FolderNote;
using haricot::binlog::PlannedFile;
using haricot::binlog::Problem;
using haricot::binlog::Record;

// Returns true if the server that used the folder last was stopped after that file.
bool is_end_of_last_run(const FileReport& newest, const FolderNote& note, std::uint64_t store_id) {
  return newest.seal_states_stop && note.run != 0 && note.store_id == store_id &&
         newest.run() == note.run;
}

}  // namespace

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
