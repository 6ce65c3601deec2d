#include "haricot/binlog/write/record_collector.hpp"

#include <array>
#include <cstring>
#include <string_view>

#include "haricot/base/blob.hpp"
#include "haricot/base/check.hpp"
#include "haricot/binlog/format/burial_stamp.hpp"
#include "haricot/binlog/format/job_record.hpp"

namespace haricot::binlog {

bool RecordCollector::prepare(std::size_t lead_bytes, std::size_t body_bytes) {
  return stream_.progress.prepare(1) && stream_.writer.prepare(lead_bytes, body_bytes);
}

bool RecordCollector::prepare_with_note(std::size_t lead_bytes, std::size_t body_bytes,
                                        std::size_t note_bytes) {
  if (note_bytes > 0) {
    if (!stream_.progress.prepare(2)) return false;
    // A write between the two would release the memory.
    write_together(full_record_bytes(lead_bytes, body_bytes) + note_bytes);
  }
  return prepare(lead_bytes + note_bytes, body_bytes);
}

bool RecordCollector::prepare_short(std::uint32_t records) {
  return stream_.progress.prepare(records) && stream_.writer.prepare_short(records);
}

void RecordCollector::append(const Record& record, std::string_view body, const BlobRef& blob) {
  CHECK(stream_.writer.is_open());
  const std::uint64_t before = stream_.writer.collected_bytes();
  stream_.writer.add(record, body, blob);
  count(record.id);
  bytes_this_turn_ += stream_.writer.collected_bytes() - before;
  flush_if_many();
}

void RecordCollector::append_to_room_kept(const Record& record) {
  CHECK(stream_.writer.is_open());
  stream_.writer.add_to_room_kept(record);
  count(record.id);
  bytes_this_turn_ += kShortRecordBytes;
  flush_if_many();
}

// No write may come, and fail, between these records and the one that they belong to.
void RecordCollector::append_text(TextKind kind, JobId id, std::string_view text) {
  for (std::size_t part = 0; part < text_parts(text.size()); ++part) {
    stream_.writer.add_text(text_record(kind, id, text, part));
    ++total_;
    bytes_this_turn_ += kShortRecordBytes;
  }
}

void RecordCollector::append_text_alone(TextKind kind, JobId id, std::string_view text) {
  append_text_again(kind, id, text);
  stream_.progress.count(id);
  flush_if_many();
}

void RecordCollector::append_text_again(TextKind kind, JobId id, std::string_view text) {
  CHECK(stream_.writer.is_open());
  for (std::size_t part = 0; part < text_parts(text.size()); ++part) {
    stream_.writer.add(text_record(kind, id, text, part), {}, {});
    ++total_;
    bytes_this_turn_ += kShortRecordBytes;
  }
}

void RecordCollector::count(JobId id) {
  stream_.progress.count(id);
  ++total_;
}

void RecordCollector::append_again(const Record& record, std::string_view body,
                                   const BlobRef& blob) {
  const std::uint64_t before = stream_.writer.collected_bytes();
  ++total_;
  stream_.writer.add(record, body, blob);
  bytes_this_turn_ += stream_.writer.collected_bytes() - before;
}

void RecordCollector::flush_if_many() {
  if (stream_.writer.collected_bytes() >= write_from_) flush();
}

void RecordCollector::flush() {
  write_from_ = kCollectedBytesMax;
  if (!stream_.writer.is_open() || stream_.writer.collected_bytes() == 0) return;
  // Records that were in doubt are synced once, when all are written again.
  const bool is_synced_each_time =
      state_.options.sync == SyncPolicy::every_turn && !refusal_.is_on();
  const DiskStatus status =
      stream_.writer.flush(state_.disk, is_synced_each_time ? SegmentWriter::Ahead::zeros
                                                            : SegmentWriter::Ahead::nothing);
  if (status == DiskStatus::ok) {
    syncs_.mark_written();
  } else {
    refusal_.begin(status, "write");
  }
}

// Records -----------------------------------------------------------------------------------------

void JobRecorder::append_full(const JournaledJob& job) {
  const JobStore& jobs = state_.engine->jobs();
  const Record record = full_record(job);
  attach(job, stream_.progress.records() + 1);
  const BlobRef blob = jobs.body_blob(job.ref);
  append_texts(job);
  records_.append(record, blob ? std::string_view{} : jobs.body(job.ref), blob);
}

void JobRecorder::append_full_again(const JournaledJob& job) {
  const JobStore& jobs = state_.engine->jobs();
  const Record record = full_record_again(job);
  attach(job, stream_.progress.records());
  const BlobRef blob = jobs.body_blob(job.ref);
  append_texts(job);
  records_.append_again(record, blob ? std::string_view{} : jobs.body(job.ref), blob);
}

namespace {

using NoteTextBytes = std::array<char, kNoteTextBytesMax>;

// Returns the text of the records of a note, which is in `to`.
std::string_view text_of_note(std::string_view note, NoteTextBytes& to) {
  to[0] = kNoteSign;
  if (!note.empty()) std::memcpy(to.data() + 1, note.data(), note.size());
  return {to.data(), 1 + note.size()};
}

}  // namespace

void JobRecorder::append_note(const JournaledJob& job) {
  const JobStore& jobs = state_.engine->jobs();
  if (!jobs.has_had_note(job.ref)) return;
  NoteTextBytes bytes;
  records_.append_text_alone(TextKind::note, job.job.id, text_of_note(jobs.note(job.ref), bytes));
}

void JobRecorder::append_note_again(const JournaledJob& job) {
  const JobStore& jobs = state_.engine->jobs();
  if (!jobs.has_had_note(job.ref)) return;
  NoteTextBytes bytes;
  records_.append_text_again(TextKind::note, job.job.id, text_of_note(jobs.note(job.ref), bytes));
}

void JobRecorder::append_texts(const JournaledJob& job) {
  const JobStore& jobs = state_.engine->jobs();
  records_.append_text(TextKind::tags, job.job.id, jobs.tags(job.ref));
  if (!jobs.has_facts(job.ref)) return;
  FactTextBytes bytes;
  records_.append_text(TextKind::facts, job.job.id, write_facts(jobs.facts(job.ref), bytes));
}

void JobRecorder::append_change(const JournaledJob& job) {
  const JobStore& jobs = state_.engine->jobs();
  records_.append(change_of(job, jobs, state_.wall_offset, stamp_of(job)));
}

void JobRecorder::append_change_in_place(const JournaledJob& job) {
  const JobStore& jobs = state_.engine->jobs();
  records_.append(change_of(job, jobs, state_.wall_offset, stamp_kept_of(job)));
}

void JobRecorder::append_deletion(JobId id, const Tombstone* left) {
  if (left != nullptr) append_tombstone(*left);
  records_.append(deletion_of(id));
}

void JobRecorder::append_deletion_again(JobId id, const Tombstone* left) {
  if (left != nullptr) append_tombstone(*left);
  records_.append_again(deletion_of(id));
}

void JobRecorder::append_tombstone(const Tombstone& tombstone) {
  state_.segments->attach(tombstone.ref, tombstone_record_bytes(tombstone));
  TombstoneTextBytes bytes;
  records_.append_text(TextKind::tombstone, tombstone.id,
                       text_of_tombstone(tombstone, state_.wall_offset, bytes));
}

void JobRecorder::append_tombstone_alone(const Tombstone& tombstone) {
  state_.segments->attach(tombstone.ref, tombstone_record_bytes(tombstone));
  TombstoneTextBytes bytes;
  records_.append_text_alone(TextKind::tombstone_alone, tombstone.id,
                             text_of_tombstone(tombstone, state_.wall_offset, bytes));
}

Record JobRecorder::full_record(const JournaledJob& job) {
  const bool is_in_a_file = state_.segments->of(job.ref) != nullptr;
  return full_record_with(job, is_in_a_file ? stamp_kept_of(job) : stamp_of(job));
}

Record JobRecorder::full_record_again(const JournaledJob& job) const {
  return full_record_with(job, stamp_kept_of(job));
}

Record JobRecorder::full_record_with(const JournaledJob& job, std::int64_t stamp) const {
  Record record = change_of(job, state_.engine->jobs(), state_.wall_offset, stamp);
  record.tube_name = job.tube_name;
  return record;
}

void JobRecorder::attach(const JournaledJob& job, std::uint64_t number) {
  state_.segments->attach(job.ref, full_record_bytes(job, state_.engine->jobs()));
  state_.segments->remember_id(job.job.id, number);
}

// Burials -----------------------------------------------------------------------------------------

std::int64_t JobRecorder::stamp_kept_of(const JournaledJob& job) const {
  return state_.engine->jobs().journal_fields(job.ref).stamp();
}

// Returns the stamp of a job that is buried now; 0 for other jobs.
std::int64_t JobRecorder::stamp_of(const JournaledJob& job) {
  if (job.job.state() != JobState::buried) return 0;
  const Burial burial = state_.engine->burial(job.ref);
  last_stamp_ = binlog::stamp_of(
      job.job.id, {.at = (burial.since + state_.wall_offset).count(), .cause = burial.cause},
      last_stamp_);
  state_.engine->jobs().journal_fields(job.ref).set_stamp(last_stamp_);
  return last_stamp_;
}

}  // namespace haricot::binlog
