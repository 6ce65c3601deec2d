// What one record says of its job: taken in, changed or dropped.

#include <algorithm>
#include <cstring>
#include <utility>

#include "haricot/binlog/format/job_record.hpp"
#include "haricot/binlog/read/replay.hpp"

namespace haricot::binlog {
namespace {

std::uint64_t job_bytes(const Record& record, std::size_t tag_bytes) {
  return full_record_bytes(lead_bytes(record.tube_name.size(), tag_bytes), record.body_bytes - 2);
}

}  // namespace

bool Replay::apply(const FileScan::Found& found, const FileScan& scan, FileReport& report) {
  const Record& record = found.record;
  const bool is_checked = kind_ == FileKind::checked;
  if (found.hole_in_front) hole_in_front_ = found.hole_in_front;
  if (record.id == kPseudoId) return apply_pseudo(record, scan);
  if (found.is_unproven) ++report.unproven;
  // In a file that nobody can check, an id says something only where there is a job to it.
  if (record.is_full() || is_checked) read_.next_id = std::max(read_.next_id, record.id + 1);
  if (record.is_full()) segments_.remember_id(record.id, 0);
  if (is_checked && is_marker(record)) return true;
  const bool good = record.is_full() ? apply_full(found, report) : apply_change(found, report);
  text_.clear();
  hole_in_front_.reset();
  return good;
}

bool Replay::apply_pseudo(const Record& record, const FileScan& scan) {
  if (const auto number = needed_from(record)) {
    hole_in_front_.reset();  // Text stands directly in front of its record.
    remember_oldest_needed(*number, scan.lacks_no_record() && newest_hurt_ < *number);
  } else if (const auto part = text_part(record); part && kind_ == FileKind::checked) {
    text_.add(*part);
    if (text_.is_whole(TextKind::tombstone_alone, part->id)) return take_tombstone(part->id);
  }
  return true;
}

// Whether a part of the text of a record may have been in the hole in front of it. A delayed job,
// or a buried one, has no place to tell whether it has any.
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
    remember_half(record);  // Until it is known whether it was written.
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
  // Tags never change, so the text is damaged, or beanstalkd has moved the job, which writes none;
  // or the older record tells that there is none.
  const bool may_lack_text =
      known != JobRef::none && !has_text && record.state != RecordState::deleted &&
      (!engine_.jobs().tags(known).empty() || (is_half(record) && !is_remembered_half(record.id)));
  const bool lacks_text = may_lack_text && is_of_that_job(record, known);
  if (found.body_is_damaged || lacks_text) {
    // An older record of the job has the same body and its tags; it stays the one that the job
    // lives in. So the next start knows them, too.
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
  if (known != JobRef::none) {
    was_buried = engine_.jobs()[known].state() == JobState::buried;
    stamp = engine_.jobs().journal_fields(known).stamp();
    drop(known);
  }
  if (is_half(record)) remember_half(record);
  if (record.state == RecordState::deleted) return true;
  const JobRef ref = take_in(record, tags);
  if (ref == JobRef::none) return fail(std::string(kNoMemory));
  if (stamp != 0) engine_.jobs().journal_fields(ref).set_stamp(stamp);
  set_time(ref, record, was_buried);
  return true;
}

// beanstalkd gives each job one time of creation, and all its records have it. Where two records
// of an id differ, one has the wrong id.
bool Replay::is_of_that_job(const Record& record, JobRef known) const {
  if (known == JobRef::none) return true;
  return engine_.jobs()[known].created == restored_from(record, wall_offset_).created;
}

// The key of a deleted job whose text was read, in place of what an older record says of it.
bool Replay::take_tombstone(JobId id) {
  std::optional<Tombstone> tombstone = tombstone_from(text_.text(), wall_offset_, now_);
  if (!tombstone) return true;  // No server writes such a record.
  read_.next_id = std::max(read_.next_id, id + 1);
  drop_tombstone(id);
  // A job of that id has lost its deletion. Nothing is a job and its tombstone at once.
  if (const JobRef job = engine_.jobs().find(id); job != JobRef::none) drop(job);
  if (tombstone->end <= now_) return true;
  tombstone->id = id;
  const JobRef tombstone_ref = engine_.restoring().restore_tombstone(*tombstone);
  if (tombstone_ref == JobRef::none) return fail(std::string(kNoMemory));
  segments_.attach(tombstone_ref, tombstone_record_bytes(*tombstone));
  return true;
}

void Replay::drop_tombstone(JobId id) {
  if (engine_.jobs().tombstones() == 0) return;
  const JobRef tombstone_ref = engine_.jobs().find_tombstone(id);
  if (tombstone_ref != JobRef::none) drop(tombstone_ref);
}

JobRef Replay::take_in(const Record& record, std::string_view tags) {
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
  const JobRef ref = engine_.restoring().restore(restored, record.tube_name, std::move(taken));
  if (ref != JobRef::none) segments_.attach(ref, job_bytes(record, tags.size()));
  return ref;
}

void Replay::change(JobRef ref, const Record& record) {
  const bool was_buried = engine_.jobs()[ref].state() == JobState::buried;
  engine_.restoring().change(ref, restored_from(record, wall_offset_));
  set_time(ref, record, was_buried);
}

// A job, or the tombstone of one.
void Replay::drop(JobRef ref) {
  JobStore& jobs = engine_.jobs();
  if (is_tombstone(jobs, ref)) {
    segments_.detach(ref, tombstone_record_bytes(engine_.tombstone(ref)));
    jobs.destroy_tombstone(ref);
    return;
  }
  const Job& job = jobs[ref];
  const std::size_t lead = lead_bytes(engine_.tubes()[job.tube].name.size(), jobs.tags(ref).size());
  segments_.detach(ref, full_record_bytes(lead, job.body_bytes));
  engine_.restoring().drop(ref);
}

// The note's stamp keeps the deadline of a delayed job until it has its place, and the turn of a
// buried one. Our records of buried jobs hold that in place of a deadline; those of beanstalkd do
// not, and count in the order in which they come.
void Replay::set_time(JobRef ref, const Record& record, bool was_buried) {
  if (record.state == RecordState::ready) return;
  JournalFields& fields = engine_.jobs().journal_fields(ref);
  if (record.state == RecordState::delayed) {
    fields.set_stamp(record.deadline_at);
  } else if (record.state == RecordState::buried) {
    const bool is_ours = kind_ == FileKind::checked;
    if (is_ours || !was_buried)
      fields.set_stamp(is_ours ? record.deadline_at : read_.last_stamp + 1);
    read_.last_stamp = std::max(read_.last_stamp, fields.stamp());
  }
}

}  // namespace haricot::binlog
