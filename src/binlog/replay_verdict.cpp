// What the replay says of a folder when all of it is read: what is wrong, and what follows from it.

#include <algorithm>
#include <string>
#include <vector>

#include "haricot/binlog/job_record.hpp"
#include "haricot/binlog/replay.hpp"

namespace haricot::binlog {
namespace {

// A gap of millions is one mistake in a name, not so many files.
constexpr std::uint64_t kMissingReportedMax = 100;
constexpr std::uint64_t kIdsOfAFile = ids_of_a_file(0);
// Bytes of a damaged record suggest an id only in this distance from the others.
constexpr std::uint64_t kIdsBelieved = 1 << 24;

}  // namespace

bool ReplayReport::is_sound() const {
  return std::none_of(problems.begin(), problems.end(), is_damage);
}

std::vector<std::string> ReplayReport::sentences() const {
  std::vector<std::string> result;
  for (const Problem& problem : problems) result.push_back(to_sentence(problem));
  return result;
}

std::vector<std::string> ReplayReport::warnings() const {
  std::vector<std::string> result;
  for (const Problem& problem : problems) {
    if (is_damage(problem)) result.push_back(to_sentence(problem));
  }
  return result;
}

void Replay::judge_folder() {
  report_.problems = file_problems_;
  for (std::size_t i = 0; i < report_.files.size(); ++i) {
    const bool is_newest = i + 1 == report_.files.size();
    judge_bytes(report_.files[i], is_newest ? nullptr : &report_.files[i + 1]);
  }
  judge_sequence();
  judge_emptied();
  judge_noted();
  judge_newest();
  judge_run();
  go_on_beyond_lost_ids();
  report_.records_lost = std::max(report_.records_lost, lost_before_);
  if (!numbers_.empty()) report_.highest_number = std::max(report_.highest_number, numbers_.back());
  for (const FileReport& file : report_.files) {
    report_.highest_number = std::max(report_.highest_number, file.written_as);
  }
}

// `next`: the file after it; null: it is the newest.
void Replay::judge_bytes(const FileReport& file, const FileReport* next) {
  const std::string name = binlog_file_name(file.number);
  std::uint64_t changes = 0;
  for (const Damage& damage : file.damages) {
    report_.records_lost += damage.records;
    changes += damage.changes;
    report_.problems.push_back({.kind = Problem::Kind::damaged,
                                .file = name,
                                .offset = damage.offset,
                                .bytes = damage.bytes,
                                .records = damage.records});
  }
  for (const FileReport::LostJob& job : file.lost_jobs) {
    report_.problems.push_back({.kind = Problem::Kind::job_lost, .file = name, .id = job.id});
  }
  if (file.unproven > 0) {
    report_.problems.push_back(
        {.kind = Problem::Kind::unproven, .file = name, .jobs = file.unproven});
  }
  if (file.torn.bytes > 0) {
    report_.problems.push_back({.kind = Problem::Kind::torn,
                                .file = name,
                                .offset = file.torn.offset,
                                .bytes = file.torn.bytes});
  }
  // The next file has lost what it knew of the end of this one, which may be anywhere then.
  const bool may_be_cut = !file.has_known_end && next != nullptr &&
                          next->kind == FileKind::checked && !next->has_signature &&
                          !next->is_head_torn;
  if (may_be_cut || file.is_cut) {
    report_doubt(name, file.written_as, 0);
  } else if (changes > 0) {
    report_doubt(name, file.written_as, changes);
  }
}

// Numbers that the sequence should have. Files go from its begin as they are not needed any more;
// the newest signature tells how far that had come, and records after it what has gone since. When
// beanstalkd, or a version that did not tell, has used the folder after us, more may have gone.
void Replay::judge_sequence() {
  bool newest_tells = false;
  for (const PlannedFile& file : plan_) {
    const FileIdentity& identity = file.identity;
    if (identity.kind == FileKind::empty) continue;
    newest_tells = identity.kind == FileKind::checked &&
                   (!identity.signature || identity.signature->tells_of_its_neighbours());
  }
  if (plan_.empty()) return;
  // On a full disk the note alone tells which files have gone.
  if (note_tells()) oldest_needed_ = std::max<std::uint64_t>(oldest_needed_, note_.oldest_needed);
  const std::uint64_t lowest = plan_.front().number;
  if (oldest_needed_ > 0 && oldest_needed_ < lowest && newest_tells) {
    const std::uint64_t first =
        std::max(oldest_needed_, lowest - std::min(lowest, kMissingReportedMax));
    for (std::uint64_t number = first; number < lowest; ++number) report_missing(number, 0);
  }
  for (std::size_t i = 1; i < plan_.size(); ++i) {
    const std::uint64_t before = plan_[i - 1].number;
    const std::uint64_t number = plan_[i].number;
    const auto& signature = plan_[i].identity.signature;
    // Nor does one tell of it that has lost its head with the power.
    if (report_.files[i].is_head_torn) continue;
    std::uint64_t first = std::max(before + 1, unneeded_below_);
    if (signature && signature->tells_of_its_neighbours()) {
      // It names the file that it was begun after; numbers between the two were never used.
      const std::uint64_t previous = signature->previous_number;
      if (previous == 0 || previous <= before) continue;
      for (; first <= previous && first < before + kMissingReportedMax; ++first)
        report_missing(first, i);
      continue;
    }
    // A file that was begun after a failure does not know the one in front of it, which may never
    // have come to be.
    const bool is_empty = plan_[i].identity.kind == FileKind::empty;
    if (is_empty || (signature && signature->previous_bytes == 0)) continue;
    for (; first < number && first < before + kMissingReportedMax; ++first)
      report_missing(first, i);
  }
}

// Files that have lost all they had: no record is in them that says whose they are, and a file of
// ours is in front. A file of ours that follows would tell of that.
void Replay::judge_emptied() {
  const auto tells_nothing = [](const FileReport& file) {
    return file.kind != FileKind::checked && file.records == 0;
  };
  const std::vector<FileReport>& files = report_.files;
  // The noted file may stand under another name, and an empty one in its place.
  const bool is_noted_read = !note_tells() || !note_tells_last_run() ||
                             std::any_of(files.begin(), files.end(), [&](const FileReport& file) {
                               return file.written_as == note_.newest && !tells_nothing(file);
                             });
  bool follows_ours = false;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const FileReport& file = files[i];
    if (!tells_nothing(file)) {
      follows_ours = file.kind == FileKind::checked;
      continue;
    }
    std::size_t next = i + 1;
    while (next < files.size() && tells_nothing(files[next])) ++next;
    const bool has_next_of_ours = next < files.size() && files[next].kind == FileKind::checked;
    const bool is_newest = i + 1 == files.size();
    // beanstalkd begins each file with its version and zeros, and an idle one leaves it so. If the
    // file in front ended because this one was begun, this one was ours all the same.
    const bool is_begun_by_beanstalkd = file.kind == FileKind::beanstalkd_v7 &&
                                        file.accepted_bytes == kVersionBytes && !file.has_rubbish();
    const bool was_begun_by_us = i > 0 && files[i - 1].was_followed();
    const bool had_records = !is_noted_read && file.written_as == note_.newest;
    if (is_begun_by_beanstalkd && !was_begun_by_us && !had_records) continue;
    const bool may_be_ours = (follows_ours && !has_next_of_ours) || had_records ||
                             (is_newest && file.kind == FileKind::empty);
    if (!may_be_ours) continue;
    newest_may_be_gone_ = true;
    if (had_no_safe_record(file.written_as)) continue;
    if (!is_newest && may_have_lost_its_name(file.written_as, i + 1)) continue;
    const std::string name = binlog_file_name(file.number);
    if (!file.has_rubbish()) {
      report_.problems.push_back({.kind = Problem::Kind::emptied, .file = name});
    }
    report_doubt(name, file.written_as, 0);
  }
}

// The newest file with records, of which the note tells, or a newer one has to be there: no server
// removes it before it has begun another.
void Replay::judge_noted() {
  if (!note_tells()) return;
  if (numbers_.empty()) {
    // An earlier version has noted no number, but whether there were records.
    if (note_.newest == 0 && note_.run_before == 0) return;
    const std::string name = note_.newest == 0 ? "lock" : binlog_file_name(note_.newest);
    report_.problems.push_back({.kind = Problem::Kind::all_missing, .file = name});
  } else {
    std::uint64_t newest = 0;
    for (const FileReport& file : report_.files) {
      newest = std::max(newest, file.written_as);
      judge_noted_file(file);
    }
    if (newest >= note_.newest) return;
    report_missing(note_.newest, plan_.size());
  }
  newest_may_be_gone_ = true;
  report_.highest_number = std::max<std::uint64_t>(report_.highest_number, note_.newest);
}

// If the last run has recorded something, the file that is noted was one of ours. One in which
// nothing says so is another one, or has lost everything.
void Replay::judge_noted_file(const FileReport& file) {
  if (!note_tells_last_run() || file.written_as != note_.newest || file.kind == FileKind::checked)
    return;
  const std::string name = binlog_file_name(file.number);
  if (file.records > 0 && !file.has_rubbish()) {
    report_.problems.push_back({.kind = Problem::Kind::other_run, .file = name});
  }
  if (!newest_may_be_gone_) report_doubt(name, file.written_as, 0);
  newest_may_be_gone_ = true;
}

// The newest file: whether another was begun after it.
void Replay::judge_newest() {
  if (report_.files.empty() || newest_may_be_gone_) return;
  const FileReport& newest = report_.files.back();
  if (newest.was_followed()) {
    newest_may_be_gone_ = true;
    const std::uint64_t number = newest.written_as + 1;
    report_.highest_number = std::max(report_.highest_number, number);
    if (had_no_safe_record(number)) return;
    const std::string name = binlog_file_name(number);
    report_.problems.push_back({.kind = Problem::Kind::next_missing,
                                .file = name,
                                .other = binlog_file_name(newest.number)});
    report_doubt(name, number, 0);
  } else if (highest_odd_name_ > std::max(newest.number, newest.written_as) &&
             !is_end_of_last_run(newest)) {
    // What stands there may have taken the place of a newer one of ours.
    newest_may_be_gone_ = true;
    report_doubt(binlog_file_name(highest_odd_name_), highest_odd_name_, 0);
  }
}

// Whether the server that used the folder last was stopped after that file.
bool Replay::is_end_of_last_run(const FileReport& newest) const {
  const auto& signature = plan_.back().identity.signature;
  return newest.is_last_of_a_run && signature && note_tells_runs() && signature->run == note_.run;
}

// Whether the note tells that the server was lost before a record of that file was safe: so it is
// when a loss of power comes as the file is begun.
bool Replay::had_no_safe_record(std::uint64_t number) const {
  return note_tells() && note_.ids_end != 0 && number > note_.newest;
}

// Whether there is a note, and no file says that it is of another folder.
bool Replay::note_tells() const {
  return note_.store_id != 0 && (report_.store_id == 0 || note_.store_id == report_.store_id);
}

// Whether the newest file that is noted is one of the last run, which has recorded something then.
bool Replay::note_tells_last_run() const {
  return note_.run != 0 && note_.run_before == note_.run;
}

// Whether there is a note, and it is of this folder.
bool Replay::note_tells_runs() const {
  return note_.run != 0 && note_.store_id == report_.store_id;
}

// The newest file was begun by the server that opened the folder last, or is the one that this
// server found: a note outside of the files tells both runs. If the file is of neither, it is from
// a copy of the folder, or a newer one is gone that nothing else tells of.
void Replay::judge_run() {
  bool is_newest = true;
  for (std::size_t i = report_.files.size(); i > 0 && report_.run == 0; --i) {
    const FileReport& file = report_.files[i - 1];
    // A file without a record may be of a run that ended before it was noted.
    if (file.kind != FileKind::checked || file.records_counted == 0) continue;
    const auto& signature = plan_[i - 1].identity.signature;
    if (signature) report_.run = signature->run;
    const bool is_known = report_.run == note_.run || report_.run == note_.run_before;
    // If a newer file is known to be missing, this one need not be of the last run.
    const bool is_noted = note_tells_runs() && report_.run != 0 && file.written_as >= note_.newest;
    if (is_newest && is_noted && !is_known) {
      newest_may_be_gone_ = true;
      const std::string name = binlog_file_name(file.number);
      report_.problems.push_back({.kind = Problem::Kind::other_run, .file = name});
      report_doubt(name, file.written_as, 0);
    }
    is_newest = false;
  }
}

// `next` is the index of the file after it.
void Replay::report_missing(std::uint64_t number, std::size_t next) {
  if (next < plan_.size() && may_have_lost_its_name(number, next)) return;
  const std::string name = binlog_file_name(number);
  report_.problems.push_back({.kind = Problem::Kind::missing, .file = name});
  std::uint64_t changes = 0;
  for (const PlannedFile& file : plan_) {
    const auto& signature = file.identity.signature;
    if (signature && knows_end_of(*signature, number)) changes = signature->previous_records;
  }
  report_doubt(name, number, changes);
}

// Jobs of this file and of older ones, whose deletion may have been recorded in what is lost of it.
// `changes`: how many records may have been; 0: not known.
void Replay::report_doubt(const std::string& file, std::uint64_t number, std::uint64_t changes) {
  std::uint64_t jobs = 0;
  for (std::size_t i = 0; i < segments_.size() && segments_.at(i).number <= number; ++i) {
    jobs += segments_.at(i).live_jobs;
  }
  if (changes > 0) jobs = std::min(jobs, changes);
  if (jobs == 0) return;
  report_.problems.push_back({.kind = Problem::Kind::in_doubt, .file = file, .jobs = jobs});
}

// No id comes again, neither those of jobs that are lost. A file after the damage that is whole
// tells the next id; without one, as many are left out as there may have been.
void Replay::go_on_beyond_lost_ids() {
  std::uint64_t left_out = 0;
  for (const FileReport& file : report_.files) {
    if (file.has_signature) left_out = 0;
    std::vector<Damage> damages = file.damages;
    if (file.torn.bytes > 0) damages.push_back(file.torn);
    for (const Damage& damage : damages) {
      const bool is_suggested = damage.highest_id >= report_.next_id &&
                                damage.highest_id - report_.next_id < kIdsBelieved;
      if (is_suggested) report_.next_id = damage.highest_id + 1;
      const std::uint64_t jobs = (damage.bytes + kSmallestJobBytes - 1) / kSmallestJobBytes;
      left_out += damage.records > 0 ? damage.records : jobs;
    }
    // A file that others follow, and of whose end nothing tells, may have been cut off. Whole ones
    // of beanstalkd never tell.
    const bool is_whole_legacy =
        file.kind != FileKind::checked && file.kind != FileKind::empty && !file.has_rubbish();
    const bool may_be_cut =
        !file.has_known_end && !is_whole_legacy && &file != &report_.files.back();
    if (may_be_cut) left_out += kIdsOfAFile;
  }
  // The one after a missing file tells its ids, if its signature is whole.
  const bool is_one_missing =
      std::any_of(report_.problems.begin(), report_.problems.end(),
                  [](const Problem& problem) { return problem.kind == Problem::Kind::missing; });
  const bool is_newest_headless = !report_.files.empty() && !report_.files.back().has_signature &&
                                  report_.files.back().kind == FileKind::checked;
  if (newest_may_be_gone_ || (is_one_missing && is_newest_headless)) left_out += kIdsOfAFile;
  // A missing file in front of another one is told of by that, unless it is of beanstalkd.
  report_.next_id += std::min(left_out, ~JobId{0} - report_.next_id);
  const bool is_noted_cut = std::any_of(report_.files.begin(), report_.files.end(),
                                        [](const FileReport& file) { return file.is_cut; });
  if ((newest_may_be_gone_ || is_noted_cut) && note_tells()) {
    report_.next_id = std::max(report_.next_id, note_.ids_end);
  }
}

// The end -----------------------------------------------------------------------------------------

bool Replay::place_all(Instant now) {
  struct Buried {
    std::int64_t stamp;
    JobRef ref;
  };
  std::vector<Buried> buried;
  JobStore& jobs = engine_.jobs();
  bool good = true;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    JobRef next = JobRef::none;
    for (JobRef ref = segments_.at(i).first; ref != JobRef::none && good; ref = next) {
      JournalNote& note = jobs.journal_note(ref);
      next = note.next;
      if (is_remains(jobs, ref)) continue;
      Job& job = jobs[ref];
      Instant deadline;
      if (job.state() == JobState::buried) {
        buried.push_back({note.stamp(), ref});
        continue;
      }
      if (job.state() == JobState::delayed) {
        deadline = restored_deadline(note.stamp(), job.delay_s, wall_offset_, now);
        if (deadline <= now) job.set_state(JobState::ready);
      }
      note.set_stamp(0);
      good = engine_.place_restored(ref, deadline);
    }
  }
  std::stable_sort(buried.begin(), buried.end(),
                   [](const Buried& a, const Buried& b) { return a.stamp < b.stamp; });
  for (const Buried& job : buried) good = good && engine_.place_restored(job.ref, Instant{});
  return good || fail(std::string(kNoMemory));
}

// After the jobs: a job that has the key comes first. Of two deleted jobs, the one that was put
// later does.
bool Replay::place_kept() {
  const std::vector<JobRef> all = engine_.jobs().remains_by_id();
  bool good = true;
  for (auto remains = all.rbegin(); remains != all.rend() && good; ++remains) {
    const PlacedKey placed = engine_.place_kept(*remains);
    if (placed == PlacedKey::over) drop(*remains);
    good = placed != PlacedKey::no_memory;
  }
  return good || fail(std::string(kNoMemory));
}

}  // namespace haricot::binlog
