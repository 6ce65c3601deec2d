#include "haricot/binlog/read/folder_judgement.hpp"

#include <algorithm>
#include <utility>

#include "haricot/binlog/format/file_name.hpp"

namespace haricot::binlog {
namespace {

using Kind = Problem::Kind;

// A gap of millions is one mistake in a name, not so many files.
constexpr std::uint64_t kMissingReportedMax = 100;
constexpr std::uint64_t kFirstFile = 1;
constexpr std::uint64_t kIdsOfAFile = ids_of_a_file(0);

bool is_of_beanstalkd(FileKind kind) {
  return kind == FileKind::beanstalkd_v7 || kind == FileKind::beanstalkd_v5;
}

// Whether all that was begun before that file was durable when the server that wrote it ended.
// Syncs are made in order: when a byte of a later file is durable, all before it is.
bool has_durable_past(const std::vector<FileReport>& files, std::size_t index) {
  const std::uint32_t run = files[index].run();
  do {
    if (files[index].marks.has_durable_past || files[index].was_stopped) return true;
    ++index;
  } while (index < files.size() && files[index].tells_end_before && files[index].run() == run);
  return false;
}

// Whether a file of that number, in front of the one of that index, may have lost its name with the
// power, and nothing of it was safe. The note is that of the server that was lost, or of a later
// one.
bool may_have_lost_its_name(const FolderPlan& plan, const std::vector<FileReport>& files,
                            std::uint64_t number, std::size_t index) {
  if (!plan.has_note() || plan.note.ids_end == 0) return false;
  // Files that have lost their heads, too, do not tell when they were begun.
  bool is_told = false;
  while (index < files.size() && !files[index].has_signature()) {
    const FileReport& file = files[index];
    if (!file.is_head_torn && file.kind() != FileKind::empty) return false;
    if (file.marks.has_durable_past) return false;
    is_told |= file.is_head_torn;
    ++index;
  }
  if (index == files.size()) return is_told || plan.had_no_safe_record(number);
  const std::uint32_t run = files[index].run();
  if (run == 0 || (run == plan.note.run && number <= plan.note.newest)) return false;
  return !files[index].marks.are_of_earlier_version() && !has_durable_past(files, index);
}

// All that is torn of a file is told, and kept, as one stretch.
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
    report_.store_id = plan.store_id;
  }

  ReplayReport run() {
    for (std::size_t i = 0; i < files_.size(); ++i) judge_bytes(i);
    judge_sequence();
    judge_emptied();
    judge_end_of_sequence();
    judge_run();
    go_on_beyond_lost_ids();
    report_.records_lost = std::max(report_.records_lost, report_.lost_before);
    report_.highest_number = std::max(report_.highest_number, plan_.highest_name);
    for (const FileReport& file : files_) {
      report_.highest_number = std::max(report_.highest_number, file.number);
    }
    return std::move(report_);
  }

 private:
  void judge_bytes(std::size_t index);
  void judge_sequence();
  void judge_gap(std::size_t index);
  void judge_emptied();
  void judge_end_of_sequence();
  void judge_noted_file(const FileReport& file);
  void judge_run();
  bool is_end_of_last_run(const FileReport& newest) const;
  void report_missing(std::uint64_t number, std::size_t next);
  void report_newest_gone(const std::string& file, std::uint64_t number);
  void report_doubt(const std::string& file, std::uint64_t number, std::uint64_t changes);
  void go_on_beyond_lost_ids();
  std::uint64_t ids_left_out();

  const FolderPlan& plan_;
  const FolderNote& note_;
  ReplayReport report_;
  const std::vector<FileReport>& files_ = report_.files;
  bool newest_may_be_gone_ = false;
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
  // The next file has lost what it knew of the end of this one, which may be anywhere then.
  const bool may_be_cut = !file.has_known_end && index + 1 < files_.size() &&
                          files_[index + 1].kind() == FileKind::checked &&
                          !files_[index + 1].has_signature() && !files_[index + 1].is_head_torn;
  if (may_be_cut || file.is_cut) {
    report_doubt(file.name, file.number, 0);
  } else if (changes > 0) {
    report_doubt(file.name, file.number, changes);
  }
}

// Numbers that the sequence should have. Files go from its begin as they are not needed any more;
// the newest signature tells how far that had come, and records after it what has gone since. When
// beanstalkd, or a version that did not tell, has used the folder after us, more may have gone.
void Judge::judge_sequence() {
  if (files_.empty()) return;
  bool newest_tells = false;
  for (const FileReport& file : files_) {
    const auto& signature = file.identity.signature;
    if (file.kind() == FileKind::empty) continue;
    newest_tells =
        file.kind() == FileKind::checked && (!signature || signature->tells_of_its_neighbours());
  }
  std::uint64_t oldest_needed = report_.oldest_needed;
  // On a full disk the note alone tells which files have gone.
  if (plan_.has_note()) oldest_needed = std::max<std::uint64_t>(oldest_needed, note_.oldest_needed);
  const std::uint64_t lowest = files_.front().number;
  if (oldest_needed > 0 && newest_tells) {
    std::uint64_t number = std::max(oldest_needed, lowest - std::min(lowest, kMissingReportedMax));
    for (; number < lowest; ++number) report_missing(number, 0);
  }
  for (std::size_t i = 1; i < files_.size(); ++i) judge_gap(i);
}

// The numbers between two files.
void Judge::judge_gap(std::size_t index) {
  // A file that has lost its head with the power tells nothing of those in front of it.
  if (files_[index].is_head_torn) return;
  const std::uint64_t before = files_[index - 1].number;
  const auto& signature = files_[index].identity.signature;
  std::uint64_t end = files_[index].number;
  if (signature && signature->tells_of_its_neighbours()) {
    // It names the file that it was begun after; numbers between the two were never used.
    end = std::uint64_t{signature->previous_number} + 1;
  } else if (files_[index].kind() == FileKind::empty ||
             (signature && signature->previous_bytes == 0)) {
    // A file that was begun after a failure does not know the one in front of it, which may never
    // have come to be.
    return;
  }
  std::uint64_t number = std::max(before + 1, report_.passed_over_below);
  for (; number < end && number < before + kMissingReportedMax; ++number) {
    report_missing(number, index);
  }
}

// Files that have lost all they had: no record is in them that says whose they are, and a file of
// ours is in front. A file of ours that follows would tell of that.
void Judge::judge_emptied() {
  // The noted file may stand under another name, and an empty one in its place.
  const bool is_noted_read =
      !plan_.has_note() || !note_.tells_last_run() ||
      std::any_of(files_.begin(), files_.end(), [this](const FileReport& file) {
        return file.number == note_.newest && !file.tells_nothing();
      });
  std::size_t end_of_signed = files_.size();  // Behind the last one with a signature.
  while (end_of_signed > 0 && !files_[end_of_signed - 1].has_signature()) --end_of_signed;
  bool follows_ours = false;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const FileReport& file = files_[i];
    if (!file.tells_nothing()) {
      follows_ours = file.kind() == FileKind::checked;
      continue;
    }
    std::size_t next = i + 1;
    while (next < files_.size() && files_[next].tells_nothing()) ++next;
    const bool has_next_of_ours = next < files_.size() && files_[next].kind() == FileKind::checked;
    const bool is_newest = i + 1 == files_.size();
    // beanstalkd begins each file with its version and zeros, and an idle one leaves it so. If the
    // file in front ended because this one was begun, this one was ours all the same.
    const bool is_begun_by_beanstalkd = file.kind() == FileKind::beanstalkd_v7 &&
                                        file.accepted_bytes == kVersionBytes && !file.has_rubbish();
    const bool was_begun_by_us = i > 0 && files_[i - 1].was_followed();
    const bool had_records = !is_noted_read && file.number == note_.newest;
    if (is_begun_by_beanstalkd && !was_begun_by_us && !had_records) continue;
    const bool may_be_ours = (follows_ours && !has_next_of_ours) || had_records ||
                             (is_newest && file.kind() == FileKind::empty);
    if (!may_be_ours) continue;
    // Else a newer one is there, with the ids from there on.
    newest_may_be_gone_ |= had_records || next >= end_of_signed;
    if (plan_.had_no_safe_record(file.number)) continue;
    if (!is_newest && may_have_lost_its_name(plan_, files_, file.number, i + 1)) continue;
    if (!file.has_rubbish()) report_.problems.push_back({.kind = Kind::emptied, .file = file.name});
    report_doubt(file.name, file.number, 0);
  }
}

// The newest file with records, of which the note tells, or a newer one has to be there: no server
// removes it before it has begun another. And a file that another was begun after is not the
// newest.
void Judge::judge_end_of_sequence() {
  const std::uint64_t newest = files_.empty() ? 0 : files_.back().number;
  std::uint64_t expected = newest;
  if (!files_.empty() && files_.back().was_followed()) ++expected;
  if (plan_.has_note()) {
    for (const FileReport& file : files_) judge_noted_file(file);
    expected = std::max<std::uint64_t>(expected, note_.newest);
    // An earlier version has noted no number, but whether there were records.
    if (plan_.highest_name == 0 && note_.run_before != 0) expected = std::max(expected, kFirstFile);
  }
  if (expected > newest) {
    newest_may_be_gone_ = true;
    report_.highest_number = std::max(report_.highest_number, expected);
    if (!plan_.had_no_safe_record(expected)) report_missing(expected, files_.size());
  } else if (newest > 0 && !newest_may_be_gone_ && !is_end_of_last_run(files_.back()) &&
             plan_.highest_odd_name > std::max(files_.back().name_number, newest)) {
    // What stands there may have taken the place of a newer one of ours.
    report_newest_gone(binlog_file_name(plan_.highest_odd_name), plan_.highest_odd_name);
  }
}

// If the last run has recorded something, the file that is noted was one of ours. One in which
// nothing says so is another one, or has lost everything.
void Judge::judge_noted_file(const FileReport& file) {
  if (!note_.tells_last_run() || file.number != note_.newest || file.kind() == FileKind::checked)
    return;
  if (file.records > 0 && !file.has_rubbish()) {
    report_.problems.push_back({.kind = Kind::other_run, .file = file.name});
  }
  if (!newest_may_be_gone_) report_newest_gone(file.name, file.number);
}

// Whether the server that used the folder last was stopped after that file.
bool Judge::is_end_of_last_run(const FileReport& newest) const {
  return newest.is_last_of_a_run && note_.run != 0 && note_.store_id == plan_.store_id &&
         newest.run() == note_.run;
}

// The newest file was begun by the server that opened the folder last, or is the one that this
// server found: a note outside of the files tells both runs. If the file is of neither, it is from
// a copy of the folder, or a newer one is gone that nothing else tells of.
void Judge::judge_run() {
  bool is_newest = true;
  for (std::size_t i = files_.size(); i > 0 && report_.run == 0; --i) {
    const FileReport& file = files_[i - 1];
    // A file without a record may be of a run that ended before it was noted.
    if (file.kind() != FileKind::checked || file.records_counted == 0) continue;
    report_.run = file.run();
    const bool is_known = report_.run == note_.run || report_.run == note_.run_before;
    // If a newer file is known to be missing, this one need not be of the last run.
    const bool is_noted = note_.run != 0 && note_.store_id == plan_.store_id && report_.run != 0 &&
                          file.number >= note_.newest;
    if (is_newest && is_noted && !is_known) {
      report_.problems.push_back({.kind = Kind::other_run, .file = file.name});
      report_newest_gone(file.name, file.number);
    }
    is_newest = false;
  }
}

// `next` is the index of the file after it.
void Judge::report_missing(std::uint64_t number, std::size_t next) {
  if (next < files_.size() && may_have_lost_its_name(plan_, files_, number, next)) return;
  const std::string name = binlog_file_name(number);
  report_.problems.push_back({.kind = Kind::missing, .file = name});
  std::uint64_t changes = 0;
  for (const FileReport& file : files_) {
    const auto& signature = file.identity.signature;
    if (signature && signature->knows_end_of(number)) changes = signature->previous_records;
  }
  report_doubt(name, number, changes);
}

void Judge::report_newest_gone(const std::string& file, std::uint64_t number) {
  newest_may_be_gone_ = true;
  report_doubt(file, number, 0);
}

// Jobs of this file and of older ones, whose deletion may have been recorded in what is lost of it.
// `changes`: how many records may have been; 0: not known.
void Judge::report_doubt(const std::string& file, std::uint64_t number, std::uint64_t changes) {
  std::uint64_t jobs = 0;
  for (const FileReport& read : files_) {
    if (read.number <= number) jobs += read.live_jobs;
  }
  if (changes > 0) jobs = std::min(jobs, changes);
  if (jobs == 0) return;
  report_.problems.push_back({.kind = Kind::in_doubt, .file = file, .jobs = jobs});
}

// As many ids as there may have been jobs in what is lost, if no file after it tells the next id.
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
    // A file that others follow, and of whose end nothing tells, may have been cut off. Whole ones
    // of beanstalkd never tell.
    const bool is_whole_legacy =
        file.kind() != FileKind::checked && file.kind() != FileKind::empty && !file.has_rubbish();
    const bool may_be_cut = !file.has_known_end && !is_whole_legacy && &file != &files_.back();
    if (may_be_cut) left_out += kIdsOfAFile;
  }
  return left_out;
}

// No id comes again, neither those of jobs that are lost.
void Judge::go_on_beyond_lost_ids() {
  std::uint64_t left_out = ids_left_out();
  // The one after a missing file tells its ids, if its signature is whole. A missing file in front
  // of another one is told of by that, unless it is of beanstalkd.
  const bool is_one_missing =
      std::any_of(report_.problems.begin(), report_.problems.end(), [](const Problem& problem) {
        return problem.kind == Kind::missing || problem.kind == Kind::unidentified;
      });
  const bool is_newest_headless = files_.empty() || (!files_.back().has_signature() &&
                                                     files_.back().kind() == FileKind::checked);
  if (newest_may_be_gone_ || (is_one_missing && is_newest_headless)) left_out += kIdsOfAFile;
  report_.next_id += std::min(left_out, ~JobId{0} - report_.next_id);
  const bool is_noted_cut =
      std::any_of(files_.begin(), files_.end(), [](const FileReport& file) { return file.is_cut; });
  // A run that has recorded nothing safe has noted what it found in files, perhaps before it moved
  // them aside; each other one notes more ids than it gives out.
  const bool is_exact = !note_.tells_last_run();
  if ((newest_may_be_gone_ || is_noted_cut || is_exact) && plan_.has_note()) {
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
  if (file.was_stopped || file.marks.are_of_earlier_version()) return kDurableBytesEnd;
  const std::size_t next = index + 1;
  // beanstalkd begins a file when the run before is over, and tells nothing of what it found.
  if (next < files.size() && is_of_beanstalkd(files[next].kind())) return kDurableBytesEnd;
  if (next == files.size() || !files[next].tells_end_before) return file.marks.durable_bytes;
  // The next run tells how it found the file, whatever it was. If nothing tells of which run the
  // file is, it is that.
  const bool is_of_other_run = file.run() != 0 && file.run() != files[next].run();
  if (file.is_as_told && (is_of_other_run || file.run() == 0)) return file.marks.durable_bytes;
  if (is_of_other_run) return kDurableBytesEnd;
  return has_durable_past(files, next) ? kDurableBytesEnd : file.marks.durable_bytes;
}

void settle_holes(std::vector<FileReport>& files) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    FileReport& file = files[i];
    if (file.damages.empty()) continue;
    const std::uint64_t durable_bytes = durable_bytes_of(files, i);
    const auto is_torn = [durable_bytes](const Damage& damage) {
      return damage.looks_torn && damage.offset >= durable_bytes;
    };
    for (const Damage& damage : file.damages) {
      if (!is_torn(damage)) continue;
      add_torn(file, damage);
      std::erase_if(file.lost_jobs, [&damage](const FileReport::LostJob& job) {
        return job.offset == damage.offset;
      });
    }
    std::erase_if(file.damages, is_torn);
  }
}

ReplayReport judge_folder(const FolderPlan& plan, FolderRead read) {
  return Judge(plan, std::move(read)).run();
}

}  // namespace haricot::binlog
