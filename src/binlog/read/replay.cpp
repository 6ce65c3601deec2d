#include "haricot/binlog/read/replay.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "haricot/base/memory.hpp"
#include "haricot/binlog/format/burial_stamp.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/format/job_record.hpp"
#include "haricot/queue/job.hpp"

namespace haricot::binlog {
namespace {

constexpr std::uint64_t kRecordsPerProgress = 8192;

}  // namespace

bool Replay::fail(std::string error) {
  error_ = std::move(error);
  return false;
}

bool Replay::fail_if_unfit() {
  std::string refusal = refusal_of(report_.problems);
  return refusal.empty() || fail(std::move(refusal));
}

bool Replay::run(Duration wall_offset, Instant now) {
  FolderFacts facts;
  if (!gather_facts(disk_, note_, epoch_, facts, error_)) return false;
  FolderPlan plan = plan_folder(facts);
  plan.may_lack_files = accepts_gaps_;
  if (!plan.refusal.empty()) return fail(plan.refusal);
  report_.problems = plan.problems;
  return fail_if_unfit() && read(std::move(plan), wall_offset, now) && fail_if_unfit() &&
         end(report_.next_id);
}

bool Replay::read(FolderPlan plan, Duration wall_offset, Instant now) {
  plan_ = std::move(plan);
  wall_offset_ = wall_offset;
  now_ = now;
  if (!read_all()) return false;
  pass_over_unneeded();
  settle_holes(read_.files);
  settle_half_written();
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    read_.files[i].live_jobs = segments_.at(i).live_jobs;
  }
  if (!place_all(now) || !place_tombstones()) return false;
  report_ = judge_folder(plan_, std::move(read_));
  return true;
}

bool Replay::end(JobId next_id) {
  if (next_id > kJobIdLast) {
    return fail("the ids of jobs are nearly used up: the next one would be " +
                std::to_string(next_id));
  }
  engine_.restoring().end(next_id);
  return true;
}

// The whole folder -------------------------------------------------------------------------------

bool Replay::read_all() {
  FileBytes bytes;
  for (std::size_t i = 0; i < plan_.files.size();) {
    // A file of large bodies has too few records to report progress, and may take long to read.
    if (!report_progress(0, 1)) return fail("stopped");
    const DiskStatus status = disk_.read(plan_.files[i].name, bytes);
    if (status == DiskStatus::missing) {
      // A volume that heals may remove a file after it was listed.
      plan_.listed_but_absent.push_back(plan_.files[i].name_number);
      plan_.files.erase(plan_.files.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    if (status != DiskStatus::ok) return fail(disk_.last_error());
    if (i + 1 < plan_.files.size()) disk_.read_ahead(plan_.files[i + 1].name);
    if (!read_file(i++, bytes)) return false;
    Memory::give_all_back();  // The file may have been larger than the next ones.
  }
  return true;
}

// Drops the jobs of files with `counts_if_needed` that are not needed, which is known only when all
// files are read. The changes that such files made to jobs in older files do not matter, because
// those files are not needed either.
void Replay::pass_over_unneeded() {
  for (std::size_t i = 0; i < plan_.files.size(); ++i) {
    const PlannedFile& file = plan_.files[i];
    if (!file.counts_if_needed || file.number >= unneeded_below_) continue;
    read_.passed_over_below = unneeded_below_;
    Segment& segment = segments_.at(i);
    while (segment.first != JobRef::none) drop(segment.first);
    segment.was_passed_over = true;
    FileReport& report = read_.files[i];
    report = report_on(i, report.bytes);
    report.accepted_bytes = report.bytes;
  }
}

// Decides about the records in half_written_: after a torn hole they do not count, so full ones are
// dropped; after damage they count, so deletions are carried out.
void Replay::settle_half_written() {
  for (const HalfWritten& half : half_written_) {
    const std::vector<Damage>& damages = read_.files[half.file].damages;
    const bool is_torn =
        std::none_of(damages.begin(), damages.end(),
                     [&half](const Damage& damage) { return damage.offset == half.hole; });
    const JobRef ref = engine_.jobs().find(half.id);
    if (ref == JobRef::none || is_torn == half.is_deletion) continue;
    // A later whole record of the job counts.
    const bool is_there = segments_.of(ref)->number == plan_.files[half.file].number;
    if (half.is_deletion || is_there) drop(ref);
  }
}

// One file ----------------------------------------------------------------------------------------

// Returns the report on a file that was not read yet.
FileReport Replay::report_on(std::size_t index, std::uint64_t bytes) const {
  FileReport report{plan_.files[index]};
  report.bytes = bytes;
  report.has_stop_in_note = plan_.note.end > 0 && plan_.noted_end_of(index) > 0;
  report.states_end_of_previous = index > 0 && plan_.witness_of(index - 1) != nullptr;
  return report;
}

bool Replay::read_file(std::size_t index, const FileBytes& file) {
  const PlannedFile& planned = plan_.files[index];
  const Signature* witness = plan_.witness_of(index);
  const std::string_view bytes = file.view();
  // The next server discarded everything after the length that its file states.
  const std::uint64_t end = witness != nullptr ? witness->previous_bytes : bytes.size();
  FileReport report = report_on(index, bytes.size());
  kind_ = report.kind();
  Segment& segment = segments_.add(planned.number);
  segment.bytes = report.bytes;
  if (const auto& signature = planned.identity.signature) {
    read_.next_id = std::max(read_.next_id, signature->next_id);
    if (signature->epoch > epoch_read_) {
      // A server of a higher epoch states itself which of the files that it found are needed. Its
      // statements replace earlier ones, because a loss of power may have brought back files that
      // an earlier server had removed as not needed.
      epoch_read_ = signature->epoch;
      unneeded_below_ = 0;
    }
    remember_oldest_needed(signature->oldest_needed, true);
    read_.lost_before = std::max<std::uint64_t>(read_.lost_before, signature->records_lost);
  }
  FileScan scan(bytes, planned.identity, end);
  if (!apply_all(scan, end, report)) return false;
  report.accepted_bytes = scan.accepted_bytes();
  report.records = report.records_counted = scan.records();
  report.digest = scan.digest();
  report.marks = scan.marks();
  report.is_sealed = scan.seal().has_value();
  if (report.is_sealed) remember_oldest_needed(scan.seal()->oldest_needed, true);
  report.has_known_end = witness != nullptr || report.is_sealed;
  report.has_stop_in_seal = report.is_sealed && scan.seal()->clean_exit;
  report.damages.insert(report.damages.begin(), scan.damages().begin(), scan.damages().end());
  if (witness != nullptr) {
    judge_known_end(scan, bytes, *witness, report);
  } else {
    judge_end(scan, bytes, report);
  }
  if (!scan.is_complete() || report.has_unreadable_part()) newest_damaged_ = planned.number;
  read_.files.push_back(std::move(report));
  return true;
}

bool Replay::apply_all(FileScan& scan, std::uint64_t end, FileReport& report) {
  text_.clear();
  hole_in_front_.reset();
  while (const FileScan::Found* const found = scan.next()) {
    if (!apply(*found, scan, report)) return false;
    const bool is_reported = ++report.records_read % kRecordsPerProgress == 0;
    if (is_reported && !report_progress(found->offset, end)) return fail("stopped");
  }
  return true;
}

// Remembers that files below `number` are not needed. Signatures and seals state it with certainty.
// A `needed` record does only if no record before it is lost in its file, and none in the files
// from `number` on. Earlier versions wrote this record together with the copies of the jobs, and a
// crash may have kept the record and lost the copies.
void Replay::remember_oldest_needed(std::uint64_t number, bool is_certain) {
  read_.oldest_needed = std::max(read_.oldest_needed, number);
  if (is_certain) unneeded_below_ = std::max(unneeded_below_, number);
}

// Judges the bytes after the last valid record of a file whose end the next file states.
void Replay::judge_known_end(const FileScan& scan, std::string_view all, const Signature& witness,
                             FileReport& report) {
  const FileIdentity& identity = report.identity;
  report.ends_as_next_states = scan.ends_as_stated_by(witness);
  const bool is_contradicted = !report.ends_as_next_states && scan.is_contradicted_by(witness);
  // Files of one run were begun by one server, so neither of them is from a copy of the folder.
  const bool is_of_that_run = report.run() != 0 && report.run() == witness.run;
  report.contradicts_next =
      is_contradicted && report.kind() == FileKind::checked && !is_of_that_run;
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
  } else if (is_contradicted && !report.contradicts_next) {
    report.unproven = report.records_read;
  }
  // After the stated end a crash leaves at most half a record. In a file of haricotd a whole record
  // there is damage, unless a server that had lost the folder wrote it.
  if (end >= all.size()) return;
  const std::size_t after = find_nonzero(all, static_cast<std::size_t>(end));
  if (after == all.size()) return;
  const std::uint64_t bytes = all.find_last_not_of('\0') + 1 - end;
  // Such a server has acknowledged nothing that it wrote there.
  const bool is_late = report.epoch() != 0 && report.epoch() < witness.epoch;
  bool has_later_record = false;
  if (report.kind() == FileKind::checked && !is_late) {
    FileScan whole(all, identity);
    whole.run_to_end();
    has_later_record = whole.accepted_bytes() > end;
  }
  if (has_later_record) {
    report.damages.push_back({.offset = end, .bytes = bytes});
  } else {
    report.torn = {.offset = end, .bytes = bytes};
  }
}

// Judges the bytes after the last valid record of a file whose end no next file states: they are
// half a record that a crash left, or damage.
void Replay::judge_end(const FileScan& scan, std::string_view all, FileReport& report) {
  const std::uint64_t noted_end = plan_.noted_end_of(read_.files.size());
  report.is_cut = scan.accepted_bytes() < noted_end && !report.is_sealed;
  if (report.is_cut) {
    Damage damage = scan.tail();
    damage.offset = scan.accepted_bytes();
    damage.bytes = noted_end - scan.accepted_bytes();
    damage.looks_torn = false;  // All of it was durable.
    report.damages.push_back(damage);
    return;
  }
  if (scan.tail().bytes == 0) return;
  const bool is_last = read_.files.size() + 1 == plan_.files.size() && !plan_.may_lack_newest;
  // A file of beanstalkd has no seal, so its tail may be half a record that a crash left. A tail
  // that ends in CR LF is not: it is damage.
  const std::uint64_t tail_end = scan.tail().offset + scan.tail().bytes;
  const bool ends_like_a_body = all.substr(0, static_cast<std::size_t>(tail_end)).ends_with("\r\n");
  // Without a signature in a file of haricotd, or a valid record in one of beanstalkd, the tail is
  // damage: nothing shows that it was half a record.
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

// The effect of a record --------------------------------------------------------------------------

bool Replay::apply(const FileScan::Found& found, const FileScan& scan, FileReport& report) {
  const Record& record = found.record;
  const bool is_checked = kind_ == FileKind::checked;
  if (found.hole_in_front) hole_in_front_ = found.hole_in_front;
  if (record.id == kPseudoId) return apply_pseudo(record, scan);
  if (found.is_unproven) ++report.unproven;
  // Without checksums, the id of a change may be wrong.
  if (record.is_full() || is_checked) read_.next_id = std::max(read_.next_id, record.id + 1);
  if (record.is_full()) segments_.remember_id(record.id, 0);
  if (is_checked && is_marker(record)) return true;
  const bool good = record.is_full() ? apply_full(found, report) : apply_change(found, report);
  text_.clear();
  facts_.reset();
  hole_in_front_.reset();
  return good;
}

bool Replay::apply_pseudo(const Record& record, const FileScan& scan) {
  if (const auto number = needed_from(record)) {
    hole_in_front_.reset();  // Text directly precedes its record, so it was not in that hole.
    remember_oldest_needed(*number, scan.is_complete() && newest_damaged_ < *number);
  } else if (const auto part = text_part(record); part && kind_ == FileKind::checked) {
    if (part->kind == TextKind::facts) {
      facts_ = {part->id, read_facts(part->view())};
      return true;
    }
    text_.add(*part);
    if (text_.is_whole(TextKind::tombstone_alone, part->id)) return take_tombstone(part->id);
    if (text_.is_whole(TextKind::note, part->id)) {
      hole_in_front_.reset();
      return take_note(part->id, text_.text());
    }
  }
  return true;
}

// Returns true if a part of the text of a record may have been in the hole before it. The record of
// a delayed or buried job has no mark, so it does not state if it has text.
bool Replay::is_half(const Record& record) {
  const TextKind kind = record.is_full() ? TextKind::tags : TextKind::tombstone;
  if (!hole_in_front_ || text_.is_whole(kind, record.id)) return false;
  if (record.state == RecordState::delayed || record.state == RecordState::buried) return true;
  const std::optional<Mark> mark = mark_of(record);
  return mark && mark->text_records > 0;
}

bool Replay::is_remembered_half(JobId id) const {
  return std::any_of(half_written_.begin(), half_written_.end(),
                     [id](const HalfWritten& half) { return half.id == id && !half.is_deletion; });
}

void Replay::remember_half(const Record& record) {
  half_written_.push_back({.file = read_.files.size(),
                           .hole = *hole_in_front_,
                           .id = record.id,
                           .is_deletion = !record.is_full()});
}

bool Replay::apply_change(const FileScan::Found& found, FileReport& report) {
  const Record& record = found.record;
  const JobRef ref = engine_.jobs().find(record.id);
  const bool is_deletion = record.state == RecordState::deleted;
  const bool leaves_key = is_deletion && text_.is_whole(TextKind::tombstone, record.id);
  if (ref == JobRef::none) return !leaves_key || take_tombstone(record.id);
  if (kind_ != FileKind::checked && !is_of_that_job(record, ref)) {
    report.damages.push_back(
        {.offset = found.offset, .bytes = record.bytes(), .records = 1, .changes = 1});
    return true;
  }
  if (!is_deletion) {
    change(ref, record);
    return true;
  }
  if (is_half(record)) {
    remember_half(record);  // settle_half_written() decides.
    return true;
  }
  drop(ref);
  return !leaves_key || take_tombstone(record.id);
}

bool Replay::apply_full(const FileScan::Found& found, FileReport& report) {
  const Record& record = found.record;
  const JobRef known = engine_.jobs().find(record.id);
  const bool has_text =
      text_.is_whole(TextKind::tags, record.id) && text_.text().size() <= kTagTextBytesMax;
  const std::string_view tags = has_text ? text_.text() : std::string_view{};
  drop_tombstone(record.id);
  // Tags never change. So if an older record of the job has tags, this record has lost its text, or
  // beanstalkd, which writes no text, has moved the job.
  const bool may_lack_text =
      known != JobRef::none && !has_text && record.state != RecordState::deleted &&
      (!engine_.jobs().tags(known).empty() || (is_half(record) && !is_remembered_half(record.id)));
  const bool lacks_text = may_lack_text && is_of_that_job(record, known);
  if (found.body_is_damaged || lacks_text) {
    // An older record has the same body and the tags. The job stays in that file, so the next start
    // finds them, too.
    if (known != JobRef::none) {
      change(known, record);
    } else if (record.state != RecordState::deleted) {
      report.lost_jobs.push_back({.id = record.id, .offset = found.offset});
    }
    return true;
  }
  if (kind_ != FileKind::checked && !is_of_that_job(record, known)) {
    report.damages.push_back({.offset = found.offset, .bytes = record.bytes(), .records = 1});
    return true;
  }
  bool was_buried = false;
  std::int64_t stamp = 0;
  std::string note;
  TagFacts facts;  // An earlier version has written none, so those of an older record count.
  if (known != JobRef::none) {
    if (engine_.jobs().has_had_note(known)) note = engine_.jobs().note(known);
    facts = engine_.jobs().facts(known);
    was_buried = engine_.jobs()[known].state() == JobState::buried;
    stamp = engine_.jobs().journal_fields(known).stamp();
    drop(known);
  }
  if (is_half(record)) remember_half(record);
  if (record.state == RecordState::deleted) return true;
  if (facts_ && facts_->id == record.id) facts = facts_->facts;
  const JobRef ref = take_in(record, tags, facts);
  if (ref == JobRef::none) return fail(std::string(kNoMemory));
  if (stamp != 0) engine_.jobs().journal_fields(ref).set_stamp(stamp);
  set_time(ref, record, was_buried);
  return note.empty() || take_note(record.id, kNoteSign + note);
}

// Returns false if a record of beanstalkd has the id of another job: all records of a job have the
// same time of creation.
bool Replay::is_of_that_job(const Record& record, JobRef known) const {
  if (known == JobRef::none) return true;
  return engine_.jobs()[known].created == restored_from(record, wall_offset_).created;
}

// Restores the key of a deleted job from the text that was read. Drops the job and an older
// tombstone, if they exist.
bool Replay::take_tombstone(JobId id) {
  std::optional<Tombstone> tombstone = tombstone_from(text_.text(), wall_offset_, now_);
  if (!tombstone) return true;  // No server writes such a record.
  read_.next_id = std::max(read_.next_id, id + 1);
  drop_tombstone(id);
  // If the job still exists, its deletion was lost.
  if (const JobRef job = engine_.jobs().find(id); job != JobRef::none) drop(job);
  if (tombstone->end <= now_) return true;
  tombstone->id = id;
  const JobRef tombstone_ref = engine_.restoring().restore_tombstone(*tombstone);
  if (tombstone_ref == JobRef::none) return fail(std::string(kNoMemory));
  segments_.attach(tombstone_ref, tombstone_record_bytes(*tombstone));
  return true;
}

// Restores the note of a job from the text of its records. Without the job the note is not needed:
// its deletion, or a copy of the job with the note, comes later.
bool Replay::take_note(JobId id, std::string_view text) {
  JobStore& jobs = engine_.jobs();
  const JobRef ref = jobs.find(id);
  const bool is_good = text.front() == kNoteSign && text.size() <= kNoteTextBytesMax;
  if (ref == JobRef::none || !is_good) return true;
  const std::size_t before = note_record_bytes(jobs, ref);
  if (!jobs.set_note(ref, text.substr(1))) return fail(std::string(kNoMemory));
  segments_.resize(ref, before, note_record_bytes(jobs, ref));
  return true;
}

void Replay::drop_tombstone(JobId id) {
  if (engine_.jobs().tombstones() == 0) return;
  const JobRef tombstone_ref = engine_.jobs().find_tombstone(id);
  if (tombstone_ref != JobRef::none) drop(tombstone_ref);
}

JobRef Replay::take_in(const Record& record, std::string_view tags, const TagFacts& facts) {
  const std::string_view body = record.body.substr(0, record.body.size() - 2);
  NewBody taken{.bytes = body, .blob = {}};
  if (body.size() > JobStore::kInlineBodyBytesMax) {
    taken.blob = BlobRef::allocate(body.size());
    if (!taken.blob) return JobRef::none;
    std::memcpy(taken.blob.data(), body.data(), body.size());
    taken.bytes = {};
  }
  RestoredJob restored = restored_from(record, wall_offset_);
  restored.tags = tags;
  restored.facts = facts;
  const JobRef ref = engine_.restoring().restore(restored, record.tube_name, std::move(taken));
  if (ref == JobRef::none) return ref;
  const std::size_t lead = lead_bytes(record.tube_name, engine_.jobs(), ref);
  segments_.attach(ref, full_record_bytes(lead, body.size()));
  return ref;
}

void Replay::change(JobRef ref, const Record& record) {
  const bool was_buried = engine_.jobs()[ref].state() == JobState::buried;
  engine_.restoring().change(ref, restored_from(record, wall_offset_));
  set_time(ref, record, was_buried);
}

// Drops a job or a tombstone.
void Replay::drop(JobRef ref) {
  JobStore& jobs = engine_.jobs();
  if (is_tombstone(jobs, ref)) {
    segments_.detach(ref, tombstone_record_bytes(engine_.tombstone(ref)));
    jobs.destroy_tombstone(ref);
    return;
  }
  const Job& job = jobs[ref];
  const std::size_t lead = lead_bytes(engine_.tubes()[job.tube].name, jobs, ref);
  segments_.detach(ref, full_record_bytes(lead, job.body_bytes) + note_record_bytes(jobs, ref));
  engine_.restoring().drop(ref);
}

// Sets the stamp of a job. For a delayed job it is the deadline, until the job is placed; for a
// buried one, that of its burial. Records of haricotd have it in the field of the deadline; buried
// jobs of beanstalkd are ordered as their records are.
void Replay::set_time(JobRef ref, const Record& record, bool was_buried) {
  if (record.state == RecordState::ready) return;
  JournalFields& fields = engine_.jobs().journal_fields(ref);
  if (record.state == RecordState::delayed) {
    fields.set_stamp(record.deadline_at);
  } else if (record.state == RecordState::buried) {
    const bool is_ours = kind_ == FileKind::checked;
    if (is_ours || !was_buried)
      fields.set_stamp(is_ours ? record.deadline_at
                               : stamp_without_time(record.id, read_.last_stamp));
    read_.last_stamp = std::max(read_.last_stamp, fields.stamp());
  }
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
  for (const Buried& job : buried) {
    const Burial burial = restored_burial(jobs[job.ref].id, job.stamp, wall_offset_, now);
    good = good && engine_.restoring().place_buried(job.ref, burial);
  }
  // Held jobs keep the order in which they were put.
  std::sort(held.begin(), held.end(),
            [&jobs](JobRef a, JobRef b) { return jobs[a].id < jobs[b].id; });
  for (const JobRef ref : held) {
    if (good) jobs.journal_fields(ref).set_stamp(0);
    good = good && engine_.restoring().place_held(ref);
  }
  return good || fail(std::string(kNoMemory));
}

// Gives tombstones the keys that no job has. Requires: all jobs are placed. If two deleted jobs
// claim a key, the one with the higher id owns it.
bool Replay::place_tombstones() {
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
