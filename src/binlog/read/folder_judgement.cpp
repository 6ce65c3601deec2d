#include "haricot/binlog/read/folder_judgement.hpp"

#include <algorithm>
#include <utility>

#include "haricot/binlog/format/file_identity.hpp"

namespace haricot::binlog {
namespace {

using Kind = Problem::Kind;

// Maximum number of missing files that are reported: one wrong name may leave a gap of millions.
constexpr std::uint64_t kMissingReportedMax = 100;
constexpr std::uint64_t kFirstFile = 1;
constexpr std::uint64_t kIdsOfAFile = ids_of_a_file(0);

bool is_of_beanstalkd(FileKind kind) {
  return kind == FileKind::beanstalkd_v7 || kind == FileKind::beanstalkd_v5;
}

// Returns true if all files before the one at `index` were durable when the server that wrote it
// ended. Syncs end in order: if a byte of a later file is durable, so is everything before it.
bool has_durable_past(const std::vector<FileReport>& files, std::size_t index) {
  const std::uint32_t run = files[index].run();
  do {
    if (files[index].marks.has_durable_past || files[index].has_stop_in_note) return true;
    ++index;
  } while (index < files.size() && files[index].states_end_of_previous &&
           files[index].run() == run);
  return false;
}

// Returns true if the power may have been lost before the name of file `number`, or any record in
// it, was durable. `index`: index of the next file that exists. The note is of the server that
// ended then, or of a later one.
bool may_have_lost_its_name(const FolderPlan& plan, const std::vector<FileReport>& files,
                            std::uint64_t number, std::size_t index) {
  if (!plan.has_note() || plan.note.ids_end == 0) return false;
  // Files without heads do not state in which run they were begun.
  bool has_torn_head = false;
  while (index < files.size() && !files[index].has_signature()) {
    const FileReport& file = files[index];
    if (!file.is_head_torn && file.kind() != FileKind::empty) return false;
    if (file.marks.has_durable_past) return false;
    has_torn_head |= file.is_head_torn;
    ++index;
  }
  if (index == files.size()) return has_torn_head || plan.had_no_safe_record(number);
  const std::uint32_t run = files[index].run();
  if (run == 0 || (run == plan.note.run && number <= plan.note.newest)) return false;
  return !files[index].marks.are_of_earlier_version() && !has_durable_past(files, index);
}

// Extends the torn stretch of a file, which is reported and copied as one.
void add_torn(FileReport& file, const Damage& damage) {
  Damage& torn = file.torn;
  if (torn.bytes == 0) {
    torn = damage;
  } else {
    const std::uint64_t end = std::max(torn.offset + torn.bytes, damage.offset + damage.bytes);
    torn.offset = std::min(torn.offset, damage.offset);
    torn.bytes = end - torn.offset;
  }
  if (damage.offset == 0) file.is_head_torn = true;
}

class Judge {
 public:
  Judge(const FolderPlan& plan, FolderRead read)
      : plan_(plan), note_(plan.note), report_{std::move(read)} {
    report_.problems = plan.problems;
    report_.spares = plan.spares;
    report_.store_id = plan.store_id;
    report_.highest_number = plan.highest_name;
  }

  ReplayReport run() {
    for (std::size_t i = 0; i < files_.size(); ++i) judge_bytes(i);
    judge_first();
    for (std::size_t i = 1; i < files_.size(); ++i) judge_gap(i);
    judge_emptied();
    judge_newest();
    judge_run();
    skip_lost_ids();
    report_.records_lost = std::max(report_.records_lost, report_.lost_before);
    for (const FileReport& file : files_) {
      report_.highest_number = std::max(report_.highest_number, file.number);
    }
    return std::move(report_);
  }

 private:
  void judge_bytes(std::size_t index);
  void judge_first();
  void judge_gap(std::size_t index);
  void judge_emptied();
  void judge_newest();
  void judge_run();
  void add_missing(std::uint64_t number, std::size_t next);
  void add_other_run(const FileReport& file);
  void add_unfit(const std::string& file, std::string why);
  std::uint64_t ids_left_out();
  void skip_lost_ids();

  const FolderPlan& plan_;
  const FolderNote& note_;
  ReplayReport report_;
  const std::vector<FileReport>& files_ = report_.files;
};

void Judge::judge_bytes(std::size_t index) {
  const FileReport& file = files_[index];
  std::uint64_t changes = 0;
  for (const Damage& damage : file.damages) {
    report_.records_lost += damage.records;
    changes += damage.changes;
    report_.problems.push_back({.kind = Kind::damaged,
                                .file = file.name,
                                .offset = damage.offset,
                                .bytes = damage.bytes,
                                .records = damage.records});
  }
  for (const FileReport::LostJob& job : file.lost_jobs) {
    report_.problems.push_back({.kind = Kind::job_lost, .file = file.name, .id = job.id});
  }
  if (file.unproven > 0) {
    report_.problems.push_back({.kind = Kind::unproven, .file = file.name, .jobs = file.unproven});
  }
  if (file.torn.bytes > 0) {
    report_.problems.push_back({.kind = Kind::torn,
                                .file = file.name,
                                .offset = file.torn.offset,
                                .bytes = file.torn.bytes});
  }
  if (file.contradicts_next) {
    add_unfit(file.name, "is not the file that " + files_[index + 1].name + " followed");
  }
  // The next file has lost its signature, which stated the end of this one, and not in a crash.
  const bool may_be_cut = !file.has_known_end && index + 1 < files_.size() &&
                          files_[index + 1].kind() == FileKind::checked &&
                          !files_[index + 1].has_signature() && !files_[index + 1].is_head_torn;
  if (may_be_cut || file.is_cut) {
    add_doubt(report_, file.name, file.number, 0);
  } else if (changes > 0) {
    add_doubt(report_, file.name, file.number, changes);
  }
}

// Finds missing files before the first one. Servers remove the oldest files once they are not
// needed; the newest signature, later records and the note state which are. If beanstalkd or an
// earlier version used the folder last, it may have removed more.
void Judge::judge_first() {
  if (files_.empty()) return;
  bool newest_states_neighbours = false;
  for (const FileReport& file : files_) {
    const auto& signature = file.identity.signature;
    if (file.kind() == FileKind::empty) continue;
    newest_states_neighbours =
        file.kind() == FileKind::checked && (!signature || signature->states_neighbours());
  }
  std::uint64_t number = report_.oldest_needed;
  // On a full disk only the note states which files were removed.
  if (plan_.has_note()) number = std::max<std::uint64_t>(number, note_.oldest_needed);
  const std::uint64_t lowest = files_.front().number;
  if (number == 0 || !newest_states_neighbours) return;
  number = std::max(number, lowest - std::min(lowest, kMissingReportedMax));
  for (; number < lowest; ++number) add_missing(number, 0);
}

// Finds missing files between two files.
void Judge::judge_gap(std::size_t index) {
  // A file without a head does not state which file it follows.
  if (files_[index].is_head_torn) return;
  const std::uint64_t before = files_[index - 1].number;
  const auto& signature = files_[index].identity.signature;
  std::uint64_t end = files_[index].number;
  if (signature && signature->states_neighbours()) {
    // Numbers between the file that it follows and its own were never used.
    end = std::uint64_t{signature->previous_number} + 1;
  } else if (files_[index].kind() == FileKind::empty ||
             (signature && signature->previous_bytes == 0)) {
    // A file that was begun after a failure does not state which file it follows.
    return;
  }
  std::uint64_t number = std::max(before + 1, report_.passed_over_below);
  for (; number < end && number < before + kMissingReportedMax; ++number) {
    add_missing(number, index);
  }
}

// Finds files that have lost all records. A file of haricotd states how many records the file
// before it had. So only these are considered: files after one of haricotd, up to the end or to a
// file of beanstalkd; the newest file of the note; and an empty file at the end.
void Judge::judge_emptied() {
  std::size_t end_of_signed = files_.size();
  while (end_of_signed > 0 && !files_[end_of_signed - 1].has_signature()) --end_of_signed;
  bool follows_ours = false;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const FileReport& file = files_[i];
    if (!file.has_unknown_writer()) {
      follows_ours = file.kind() == FileKind::checked;
      continue;
    }
    std::size_t next = i + 1;
    while (next < files_.size() && files_[next].has_unknown_writer()) ++next;
    const bool has_next_of_ours = next < files_.size() && files_[next].kind() == FileKind::checked;
    const bool is_newest = i + 1 == files_.size();
    // An idle beanstalkd leaves a file with its version and zeros.
    const bool is_begun_by_beanstalkd = file.kind() == FileKind::beanstalkd_v7 &&
                                        file.accepted_bytes == kVersionBytes &&
                                        !file.has_unreadable_part();
    const bool was_begun_by_us = i > 0 && files_[i - 1].was_followed();
    const bool had_records =
        plan_.has_note() && note_.last_run_has_records() && file.number == note_.newest;
    if (is_begun_by_beanstalkd && !was_begun_by_us && !had_records) continue;
    const bool may_be_ours = (follows_ours && !has_next_of_ours) || had_records ||
                             (is_newest && file.kind() == FileKind::empty);
    if (!may_be_ours) continue;
    report_.may_lack_newest |= had_records || next >= end_of_signed;
    if (plan_.had_no_safe_record(file.number)) continue;
    if (!is_newest && may_have_lost_its_name(plan_, files_, file.number, i + 1)) continue;
    if (!file.has_unreadable_part())
      report_.problems.push_back({.kind = Kind::damaged, .file = file.name});
    add_doubt(report_, file.name, file.number, 0);
  }
}

// Detects that the newest file is missing. The newest file of the note, or a newer one, must exist,
// because a server removes a file only after it has begun another. If the last file was sealed
// because another one was begun, this other one is missing.
void Judge::judge_newest() {
  const std::uint64_t newest = files_.empty() ? 0 : files_.back().number;
  std::uint64_t expected = newest;
  if (!files_.empty() && files_.back().was_followed()) ++expected;
  if (plan_.has_note()) {
    expected = std::max<std::uint64_t>(expected, note_.newest);
    // A note of an earlier version states only whether there were records.
    if (plan_.highest_name == 0 && note_.run_before != 0) expected = std::max(expected, kFirstFile);
  }
  if (expected <= newest) return;
  report_.may_lack_newest = true;
  report_.highest_number = std::max(report_.highest_number, expected);
  if (files_.empty() || plan_.had_safe_record(expected)) {
    if (!plan_.had_no_safe_record(expected)) add_missing(expected, files_.size());
  } else if (!plan_.had_no_safe_record(expected)) {
    // Nothing states whether it had a record: a crash when it was begun leaves the same.
    add_doubt(report_, binlog_file_name(expected), expected, 0);
  }
}

// Compares the newest file with the note. The note names two runs: that of the server that opened
// the folder last, and that of the newest file that this server found. If the newest file is of
// neither run, it is from a copy of the folder, or newer files are missing. If a file of beanstalkd
// has the number of the newest file of the note, it has replaced that file.
void Judge::judge_run() {
  bool is_newest = true;
  for (auto file = files_.rbegin(); file != files_.rend(); ++file) {
    if (file->kind() != FileKind::checked) {
      const bool is_noted =
          plan_.has_note() && note_.last_run_has_records() && file->number == note_.newest;
      if (is_noted && file->records > 0 && !file->has_unreadable_part()) add_other_run(*file);
      report_.may_lack_newest |= is_noted;
      continue;
    }
    // A file without a record may be of a run that ended before it was noted.
    if (report_.run != 0 || file->records_counted == 0) continue;
    report_.run = file->run();
    const bool is_known = report_.run == note_.run || report_.run == note_.run_before;
    const bool is_noted = note_.run != 0 && note_.store_id == plan_.store_id && report_.run != 0 &&
                          file->number >= note_.newest;
    if (is_newest && is_noted && !is_known) {
      add_other_run(*file);
      report_.may_lack_newest = true;
    }
    is_newest = false;
  }
}

// Reports a missing file, unless a loss of power explains that. `next`: index of the next file.
void Judge::add_missing(std::uint64_t number, std::size_t next) {
  if (next < files_.size() && may_have_lost_its_name(plan_, files_, number, next)) return;
  if (plan_.may_lack_files) return add_doubt(report_, binlog_file_name(number), number, 0);
  report_.missing.push_back(number);
  const auto& listed = plan_.listed_but_absent;
  const bool is_listed = std::find(listed.begin(), listed.end(), number) != listed.end();
  if (is_listed) report_.missing_but_listed.push_back(number);
  add_unfit(binlog_file_name(number),
            is_listed ? "cannot be found, though the folder lists it" : "is missing");
}

void Judge::add_other_run(const FileReport& file) {
  if (plan_.may_lack_files) return add_doubt(report_, file.name, file.number, 0);
  add_unfit(file.name, "was not begun by the server that used the folder last");
}

void Judge::add_unfit(const std::string& file, std::string why) {
  report_.problems.push_back({.kind = Kind::unfit, .file = file, .why = std::move(why)});
}

// Returns the maximum number of ids that lost jobs had and that no later signature covers.
std::uint64_t Judge::ids_left_out() {
  std::uint64_t left_out = 0;
  for (const FileReport& file : files_) {
    if (file.has_signature()) left_out = 0;
    std::vector<Damage> damages = file.damages;
    if (file.torn.bytes > 0) damages.push_back(file.torn);
    for (const Damage& damage : damages) {
      const std::uint64_t jobs = (damage.bytes + kSmallestJobBytes - 1) / kSmallestJobBytes;
      left_out += damage.records > 0 ? damage.records : jobs;
    }
    // A file whose end is unknown may have been cut, unless it is the newest, or a whole file of
    // beanstalkd.
    const bool is_whole_legacy = file.kind() != FileKind::checked &&
                                 file.kind() != FileKind::empty && !file.has_unreadable_part();
    const bool may_be_cut = !file.has_known_end && !is_whole_legacy && &file != &files_.back();
    if (may_be_cut) left_out += kIdsOfAFile;
  }
  return left_out;
}

// Skips ids that lost jobs may have had, so that no id is assigned twice.
void Judge::skip_lost_ids() {
  std::uint64_t left_out = ids_left_out();
  if (report_.may_lack_newest) left_out += kIdsOfAFile;
  report_.skip_ids(left_out);
  const bool is_noted_cut =
      std::any_of(files_.begin(), files_.end(), [](const FileReport& file) { return file.is_cut; });
  // If the last run has no durable records, the note has the exact next id. Otherwise its bound is
  // higher than the ids that were given out, so it is used only if records may be missing.
  const bool is_exact = !note_.last_run_has_records();
  if ((report_.may_lack_newest || is_noted_cut || is_exact) && plan_.has_note()) {
    report_.next_id = std::max(report_.next_id, note_.ids_end);
  }
}

}  // namespace

bool ReplayReport::is_sound() const {
  return std::none_of(problems.begin(), problems.end(), is_damage);
}

std::vector<std::string> ReplayReport::warnings() const {
  std::vector<std::string> result;
  for (const Problem& problem : problems) {
    if (is_damage(problem)) result.push_back(to_sentence(problem));
  }
  return result;
}

std::uint64_t durable_bytes_of(const std::vector<FileReport>& files, std::size_t index) {
  const FileReport& file = files[index];
  if (file.has_stop_in_note || file.marks.are_of_earlier_version()) return kDurableBytesEnd;
  const std::size_t next = index + 1;
  // beanstalkd begins its file after the run has ended, and does not state how it found this one.
  if (next < files.size() && is_of_beanstalkd(files[next].kind())) return kDurableBytesEnd;
  if (next == files.size() || !files[next].states_end_of_previous) return file.marks.durable_bytes;
  // The next run states how it found this file. If the file is as stated and its run is unknown, it
  // counts as one of an earlier run.
  const bool is_of_other_run = file.run() != 0 && file.run() != files[next].run();
  if (file.ends_as_next_states && (is_of_other_run || file.run() == 0))
    return file.marks.durable_bytes;
  if (is_of_other_run) return kDurableBytesEnd;
  return has_durable_past(files, next) ? kDurableBytesEnd : file.marks.durable_bytes;
}

void settle_holes(std::vector<FileReport>& files) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    FileReport& file = files[i];
    if (file.damages.empty()) continue;
    const std::uint64_t durable_bytes = durable_bytes_of(files, i);
    std::uint64_t damaged_until = ~std::uint64_t{0};
    for (Damage& damage : file.damages) {
      // A hole directly after a damaged record is a part of that damage.
      damage.looks_torn =
          damage.looks_torn && damage.offset >= durable_bytes && damage.offset != damaged_until;
      if (!damage.looks_torn) {
        damaged_until = damage.offset + damage.bytes;
        continue;
      }
      add_torn(file, damage);
      std::erase_if(file.lost_jobs, [&damage](const FileReport::LostJob& job) {
        return job.offset == damage.offset;
      });
    }
    std::erase_if(file.damages, [](const Damage& damage) { return damage.looks_torn; });
  }
}

void add_doubt(ReplayReport& report, const std::string& file, std::uint64_t number,
               std::uint64_t changes) {
  std::uint64_t jobs = 0;
  for (const FileReport& read : report.files) {
    if (read.number <= number) jobs += read.live_jobs;
  }
  if (changes > 0) jobs = std::min(jobs, changes);
  if (jobs == 0) return;
  report.problems.push_back({.kind = Problem::Kind::in_doubt, .file = file, .jobs = jobs});
}

ReplayReport judge_folder(const FolderPlan& plan, FolderRead read) {
  return Judge(plan, std::move(read)).run();
}

}  // namespace haricot::binlog
