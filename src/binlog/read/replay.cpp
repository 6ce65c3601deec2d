#include "haricot/binlog/read/replay.hpp"

#include <algorithm>
#include <utility>

#include "haricot/base/memory.hpp"
#include "haricot/binlog/format/file_name.hpp"
#include "haricot/binlog/format/job_record.hpp"
#include "haricot/queue/job.hpp"

// What one record does stands in replay_records.cpp.

namespace haricot::binlog {
namespace {

constexpr std::uint64_t kRecordsPerProgress = 8192;

}  // namespace

bool Replay::fail(std::string error) {
  error_ = std::move(error);
  return false;
}

bool Replay::run(Duration wall_offset, Instant now) {
  FolderFacts facts;
  if (!gather_facts(disk_, note_, epoch_, facts, error_)) return false;
  return run(facts, wall_offset, now);
}

bool Replay::run(const FolderFacts& facts, Duration wall_offset, Instant now) {
  wall_offset_ = wall_offset;
  now_ = now;
  plan_ = plan_folder(facts);
  if (!plan_.refusal.empty()) return fail(plan_.refusal);
  if (!leave_contradicted_aside() || !read_all() || !collect_ids_aside()) return false;
  pass_over_unneeded();
  settle_holes(read_.files);
  settle_half_written();
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    read_.files[i].live_jobs = segments_.at(i).live_jobs;
  }
  if (!place_all(now) || !place_tombstone()) return false;
  report_ = judge_folder(plan_, std::move(read_));
  report_.spares = facts.spares;
  for (const Problem& problem : report_.problems) {
    if (problem.kind != Problem::Kind::missing) continue;
    // Who lists it may find it later. Without it, jobs would be lost, or come back.
    const bool is_listed =
        std::any_of(facts.missing.begin(), facts.missing.end(),
                    [&](std::uint64_t number) { return binlog_file_name(number) == problem.file; });
    if (is_listed) return fail("cannot find " + problem.file + ", though the folder lists it");
  }
  if (report_.next_id > kJobIdLast) {
    return fail("the ids of jobs are nearly used up: the next one would be " +
                std::to_string(report_.next_id));
  }
  engine_.restoring().end(report_.next_id);
  return true;
}

// The whole folder -------------------------------------------------------------------------------

bool Replay::read_all() {
  FileBytes bytes;
  for (std::size_t i = 0; i < plan_.files.size(); ++i) {
    // Also before each file: one of large bodies has few records, and a slow disk takes its time.
    if (!report_progress(0, 1)) return fail("stopped");
    if (disk_.read(plan_.files[i].name, bytes) != DiskStatus::ok) return fail(disk_.last_error());
    if (i + 1 < plan_.files.size()) disk_.read_ahead(plan_.files[i + 1].name);
    if (!read_file(i, bytes)) return false;
    Memory::give_all_back();  // Nobody is served yet, and a next file may have been larger.
  }
  return true;
}

// Files that the one after them was not begun after, but another one, of a copy of the folder that
// was used apart. Two files that one server has begun are of the same folder. One that is left
// aside itself says nothing of others, so the last goes first.
bool Replay::leave_contradicted_aside() {
  FileBytes bytes;
  for (std::size_t i = plan_.files.size(); i-- > 0;) {
    const PlannedFile& file = plan_.files[i];
    const Signature* witness = plan_.witness_of(i);
    if (witness == nullptr || file.kind() != FileKind::checked) continue;
    if (file.run() != 0 && file.run() == witness->run) continue;
    if (!report_progress(0, 1)) return fail("stopped");
    if (disk_.read(file.name, bytes) != DiskStatus::ok) return fail(disk_.last_error());
    FileScan scan(bytes.view(), file.identity, witness->previous_bytes);
    scan.run_to_end();
    if (scan.is_contradicted_by(*witness)) {
      plan_.leave_aside(i, Problem::Kind::contradicted, plan_.files[i + 1].name);
    }
  }
  return true;
}

// Takes back what files have brought that count only if they are needed, and are not. That is known
// when all is read. What such a file has done to jobs of files before it does not matter: they are
// not needed either.
void Replay::pass_over_unneeded() {
  for (std::size_t i = 0; i < plan_.files.size(); ++i) {
    const PlannedFile& file = plan_.files[i];
    if (!file.counts_if_needed || file.number >= unneeded_for_sure_) continue;
    read_.passed_over_below = unneeded_for_sure_;
    Segment& segment = segments_.at(i);
    while (segment.first != JobRef::none) drop(segment.first);
    segment.was_passed_over = true;
    FileReport& report = read_.files[i];
    report = report_on(i, report.bytes);
    report.accepted_bytes = report.bytes;
  }
}

// Records without their texts: see is_half(). What is damaged is known by now, the rest is torn.
void Replay::settle_half_written() {
  for (const HalfWritten& half : half_written_) {
    const std::vector<Damage>& damages = read_.files[half.file].damages;
    const bool is_torn =
        std::none_of(damages.begin(), damages.end(),
                     [&half](const Damage& damage) { return damage.offset == half.hole; });
    const JobRef ref = engine_.jobs().find(half.id);
    if (ref == JobRef::none || is_torn == half.is_deletion) continue;
    // A job may have been written anew, whole.
    const bool is_there = segments_.of(ref)->number == plan_.files[half.file].number;
    if (half.is_deletion || is_there) drop(ref);
  }
}

// The ids of files of this folder that are left aside are given out.
bool Replay::collect_ids_aside() {
  FileBytes bytes;
  for (const PlannedFile& file : plan_.aside) {
    if (disk_.read(file.name, bytes) != DiskStatus::ok) return fail(disk_.last_error());
    const auto collect = [this](const Record& record) {
      if (record.id <= kJobIdLast) read_.next_id = std::max(read_.next_id, record.id + 1);
    };
    FileScan scan(bytes.view(), file.identity);
    while (const FileScan::Found* const found = scan.next()) collect(found->record);
    if (file.kind() != FileKind::unidentified) continue;
    for (std::size_t at = kVersionBytes; find_proven(bytes.view(), at); ++at) {
      collect(parse_record(bytes.view().substr(at))->record);
    }
  }
  return true;
}

// One file ----------------------------------------------------------------------------------------

// What is known of a file before it is read.
FileReport Replay::report_on(std::size_t index, std::uint64_t bytes) const {
  FileReport report{plan_.files[index]};
  report.bytes = bytes;
  report.was_stopped = plan_.note.end > 0 && plan_.noted_end_of(index) > 0;
  report.tells_end_before = index > 0 && plan_.witness_of(index - 1) != nullptr;
  return report;
}

bool Replay::read_file(std::size_t index, const FileBytes& file) {
  const PlannedFile& planned = plan_.files[index];
  const Signature* witness = plan_.witness_of(index);
  // What stands after the length that the next file knows was given up by the server itself.
  const std::string_view bytes = file.view();
  const std::uint64_t end = witness != nullptr ? witness->previous_bytes : bytes.size();

  FileReport report = report_on(index, file.view().size());
  kind_ = report.kind();
  Segment& segment = segments_.add(planned.number);
  segment.bytes = report.bytes;
  segment.name_number = planned.name_number;
  if (const auto& signature = planned.identity.signature) {
    read_.next_id = std::max(read_.next_id, signature->next_id);
    if (signature->epoch > epoch_read_) {
      // The server of this epoch has found what was there, and says what it needs of it. What one
      // before it has removed may have come back, with the power.
      epoch_read_ = signature->epoch;
      unneeded_for_sure_ = 0;
    }
    remember_oldest_needed(signature->oldest_needed, true);
    // What is lost here now may have been told before.
    read_.lost_before = std::max<std::uint64_t>(read_.lost_before, signature->records_lost);
  }
  FileScan scan(bytes, planned.identity, end);
  text_.clear();
  hole_in_front_.reset();
  while (const FileScan::Found* const found = scan.next()) {
    if (!apply(*found, scan, report)) return false;
    const bool is_reported = ++report.records_read % kRecordsPerProgress == 0;
    if (is_reported && !report_progress(found->offset, end)) return fail("stopped");
  }
  report.accepted_bytes = scan.accepted_bytes();
  report.records = report.records_counted = scan.records();
  report.digest = scan.digest();
  report.marks = scan.marks();
  report.is_as_told = witness != nullptr && scan.is_as_told_by(*witness);
  report.is_sealed = scan.seal().has_value();
  if (report.is_sealed) remember_oldest_needed(scan.seal()->oldest_needed, true);
  report.has_known_end = witness != nullptr || report.is_sealed;
  report.is_last_of_a_run = report.is_sealed && scan.seal()->clean_exit;
  report.damages.insert(report.damages.begin(), scan.damages().begin(), scan.damages().end());
  judge_end(scan, file.view(), witness, report);
  if (!scan.lacks_no_record() || report.has_rubbish()) newest_hurt_ = planned.number;
  read_.files.push_back(std::move(report));
  return true;
}

// A file that a server has begun to remove is not needed for sure. A record that tells of one may
// be there without the copies of its jobs: a version has written it with them, and a crash may keep
// any page of what was written. So it counts for sure if no record is lost in front of it, in any
// file that may have the copies.
void Replay::remember_oldest_needed(std::uint64_t number, bool is_for_sure) {
  read_.oldest_needed = std::max(read_.oldest_needed, number);
  if (is_for_sure) unneeded_for_sure_ = std::max(unneeded_for_sure_, number);
}

// What follows the last good record of a file whose end the next one tells.
void Replay::judge_known_end(const FileScan& scan, std::string_view all, const Signature& witness,
                             FileReport& report) {
  const FileIdentity& identity = plan_.files[read_.files.size()].identity;
  const std::uint64_t end = witness.previous_bytes;
  const bool is_short = scan.accepted_bytes() < end;
  const std::uint64_t missing =
      witness.previous_records > scan.records() ? witness.previous_records - scan.records() : 0;
  if (is_short && (missing > 0 || scan.tail().bytes > 0)) {
    Damage damage = scan.tail();
    damage.offset = scan.accepted_bytes();
    damage.bytes = end - scan.accepted_bytes();
    damage.records = static_cast<std::uint32_t>(missing);
    damage.changes = missing;
    const bool is_ours = report.kind() == FileKind::checked || report.kind() == FileKind::empty;
    damage.looks_torn = is_ours && looks_torn(all.substr(0, static_cast<std::size_t>(end)),
                                              damage.offset, end, identity.seed);
    report.damages.push_back(damage);
    report.records += missing;
  } else if (!report.is_as_told && scan.is_contradicted_by(witness)) {
    report.unproven = report.records_read;  // Of beanstalkd, and not as it was.
  }
  // The server gave up what stands after the end: half a record at most. Not whole ones.
  if (end >= all.size()) return;
  const std::size_t after = find_nonzero(all, static_cast<std::size_t>(end));
  if (after == all.size()) return;
  const std::uint64_t bytes = all.find_last_not_of('\0') + 1 - end;
  // A server that has lost the folder may have written on, and has acknowledged nothing of that.
  const auto& signature = identity.signature;
  const bool is_late = signature && signature->epoch != 0 && signature->epoch < witness.epoch;
  bool goes_on = false;
  if (report.kind() == FileKind::checked && !is_late) {
    FileScan whole(all, identity);
    whole.run_to_end();
    goes_on = whole.accepted_bytes() > end;
  }
  if (goes_on) {
    report.damages.push_back({.offset = end, .bytes = bytes});
  } else {
    report.torn = {.offset = end, .bytes = bytes};
  }
}

// What follows the last good record: nothing, what a crash tore off, or damage.
void Replay::judge_end(const FileScan& scan, std::string_view all, const Signature* witness,
                       FileReport& report) {
  if (witness != nullptr) {
    judge_known_end(scan, all, *witness, report);
    return;
  }
  const std::uint64_t noted_end = plan_.noted_end_of(read_.files.size());
  report.is_cut = scan.accepted_bytes() < noted_end && !report.is_sealed;
  if (report.is_cut) {
    Damage damage = scan.tail();
    damage.offset = scan.accepted_bytes();
    damage.bytes = noted_end - scan.accepted_bytes();
    damage.looks_torn = false;  // All of it was safe.
    report.damages.push_back(damage);
    return;
  }
  if (scan.tail().bytes == 0) return;
  const bool is_last =
      read_.files.size() + 1 == plan_.files.size() && plan_.highest_odd_name <= report.name_number;
  // beanstalkd writes no seal when it stops. But half a record does not end as a body does.
  const std::uint64_t tail_end = scan.tail().offset + scan.tail().bytes;
  const bool ends_like_a_body = all.substr(0, static_cast<std::size_t>(tail_end)).ends_with("\r\n");
  // And what is left of a file without a record may have been anything.
  const bool may_be_torn = report.kind() == FileKind::checked
                               ? report.has_signature() && !report.is_sealed
                               : scan.records() > 0 && !ends_like_a_body;
  if (is_last && may_be_torn) {
    report.torn = scan.tail();
  } else {
    report.damages.push_back(scan.tail());
  }
}

bool Replay::report_progress(std::uint64_t offset, std::uint64_t bytes) {
  if (watcher_.function == nullptr) return true;
  const double share = static_cast<double>(offset) / static_cast<double>(bytes);
  return watcher_.function(watcher_.context,
                           {plan_.files.size(), read_.files.size(), share, engine_.jobs().size()});
}

// The end -----------------------------------------------------------------------------------------

bool Replay::place_all(Instant now) {
  struct Buried {
    std::int64_t stamp;
    JobRef ref;
  };
  std::vector<Buried> buried;
  std::vector<JobRef> held;
  JobStore& jobs = engine_.jobs();
  bool good = true;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    JobRef next = JobRef::none;
    for (JobRef ref = segments_.at(i).first; ref != JobRef::none && good; ref = next) {
      JournalFields& fields = jobs.journal_fields(ref);
      next = fields.next;
      if (is_tombstone(jobs, ref)) continue;
      Job& job = jobs[ref];
      Instant deadline;
      if (job.state() == JobState::buried) {
        buried.push_back({fields.stamp(), ref});
        continue;
      }
      if (job.state() == JobState::delayed) {
        if (jobs.may_be_held(ref) && is_held_until(job, fields.stamp(), wall_offset_)) {
          held.push_back(ref);
          continue;
        }
        deadline = restored_deadline(fields.stamp(), job.delay_s, wall_offset_, now);
        if (deadline <= now) job.set_state(JobState::ready);
      }
      fields.set_stamp(0);
      good = engine_.restoring().place(ref, deadline);
    }
  }
  std::stable_sort(buried.begin(), buried.end(),
                   [](const Buried& a, const Buried& b) { return a.stamp < b.stamp; });
  for (const Buried& job : buried) good = good && engine_.restoring().place(job.ref, Instant{});
  // In the order in which they were put.
  std::sort(held.begin(), held.end(),
            [&jobs](JobRef a, JobRef b) { return jobs[a].id < jobs[b].id; });
  for (const JobRef ref : held) {
    if (good) jobs.journal_fields(ref).set_stamp(0);
    good = good && engine_.restoring().place_held(ref);
  }
  return good || fail(std::string(kNoMemory));
}

// After the jobs: a job that has the key comes first. Of two deleted jobs, the one that was put
// later does.
bool Replay::place_tombstone() {
  const std::vector<JobRef> all = engine_.jobs().tombstones_by_id();
  bool good = true;
  for (auto tombstone_ref = all.rbegin(); tombstone_ref != all.rend() && good; ++tombstone_ref) {
    const PlacedKey placed = engine_.restoring().place_tombstone(*tombstone_ref);
    if (placed == PlacedKey::over) drop(*tombstone_ref);
    good = placed != PlacedKey::no_memory;
  }
  return good || fail(std::string(kNoMemory));
}

}  // namespace haricot::binlog
