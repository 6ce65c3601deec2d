#include "haricot/binlog/write/record_stream.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/binlog/format/job_record.hpp"

// record_stream_files.cpp has the files of records, and failures.

namespace haricot::binlog {

RecordStream::RecordStream(BinlogState& state, const StreamEvents& events)
    : state_(state),
      events_(events),
      note_(state.disk, ids_of_a_file(state.options.file_bytes)),
      syncs_(state.disk) {}

void RecordStream::start_from(const Start& start) {
  next_file_number_ = start.number;
  if (start.is_unsure) unsure_number_ = start.number;
  previous_ = start.previous;
  previous_number_ = start.previous_number;
  last_stamp_ = start.last_stamp;
  records_lost_ = start.records_lost;
}

// Records -----------------------------------------------------------------------------------------

bool RecordStream::prepare(std::size_t lead_bytes, std::size_t body_bytes) {
  try {
    if (unsafe_.size() == unsafe_.capacity()) unsafe_.reserve(2 * unsafe_.size() + 64);
  } catch (const std::bad_alloc&) {
    return false;
  }
  return writer_.prepare(lead_bytes, body_bytes);
}

bool RecordStream::prepare_short(std::uint32_t records) {
  try {
    if (unsafe_.capacity() - unsafe_.size() < records) {
      unsafe_.reserve(2 * unsafe_.size() + records);
    }
  } catch (const std::bad_alloc&) {
    return false;
  }
  return writer_.prepare_short(records);
}

void RecordStream::append(const Record& record, std::string_view body, const BlobRef& blob,
                          bool to_room_kept) {
  CHECK(writer_.is_open());
  const std::uint64_t before = writer_.collected_bytes();
  if (to_room_kept) {
    writer_.add_to_room_kept(record);
  } else {
    writer_.add(record, body, blob);
  }
  count_record(record.id);
  appended_this_turn_ += writer_.collected_bytes() - before;
  if (writer_.collected_bytes() >= write_from_) flush();
}

void RecordStream::count_record(JobId id) {
  unsafe_.push_back(id);
  ++records_;
  ++total_written_;
}

void RecordStream::append_change(const JournaledJob& job) {
  append(change_of(job, state_.engine->jobs(), state_.wall_offset, stamp_of(job)), {}, {});
}

void RecordStream::append_change_in_place(const JournaledJob& job) {
  const JobStore& jobs = state_.engine->jobs();
  append(change_of(job, jobs, state_.wall_offset, stamp_kept_of(job)), {}, {});
}

void RecordStream::append_full(const JournaledJob& job) {
  const JobStore& jobs = state_.engine->jobs();
  const Record record = full_record_of(job, stamp_for_full(job));
  attach(job, records_ + 1);
  const BlobRef blob = jobs.body_blob(job.ref);
  append_text(TextKind::tags, job.job.id, jobs.tags(job.ref));
  append(record, blob ? std::string_view{} : jobs.body(job.ref), blob);
}

// No write may come, and fail, between these records and the one that they belong to.
void RecordStream::append_text(TextKind kind, JobId id, std::string_view text) {
  for (std::size_t part = 0; part < text_parts(text.size()); ++part) {
    const Record record = text_record(kind, id, text, part);
    if (kind == TextKind::tombstone_alone) {
      writer_.add(record, {}, {});
    } else {
      writer_.add_text(record);
    }
    ++total_written_;
    appended_this_turn_ += kShortRecordBytes;
  }
}

void RecordStream::append_tombstone(const Tombstone& tombstone, TextKind kind) {
  state_.segments->attach(tombstone.ref, tombstone_record_bytes(tombstone));
  TombstoneTextBytes bytes;
  append_text(kind, tombstone.id, text_of_tombstone(tombstone, state_.wall_offset, bytes));
}

// Counts the records of its text as one that may be in doubt.
void RecordStream::append_tombstone_alone(const Tombstone& tombstone) {
  CHECK(writer_.is_open());
  append_tombstone(tombstone, TextKind::tombstone_alone);
  unsafe_.push_back(tombstone.id);
  ++records_;
  if (writer_.collected_bytes() >= write_from_) flush();
}

void RecordStream::append_again(const Record& record, std::string_view body, const BlobRef& blob) {
  const std::uint64_t before = writer_.collected_bytes();
  ++total_written_;
  writer_.add(record, body, blob);
  appended_this_turn_ += writer_.collected_bytes() - before;
}

Record RecordStream::full_record_of(const JournaledJob& job, std::int64_t stamp) const {
  Record record = change_of(job, state_.engine->jobs(), state_.wall_offset, stamp);
  record.tube_name = job.tube_name;
  return record;
}

// `number`: record that has to be durable before the file counts as having the id.
void RecordStream::attach(const JournaledJob& job, std::uint64_t number) {
  state_.segments->attach(job.ref, full_record_bytes(job, state_.engine->jobs()));
  state_.segments->remember_id(job.job.id, number);
}

std::int64_t RecordStream::stamp_for_full(const JournaledJob& job) {
  return state_.segments->of(job.ref) == nullptr ? stamp_of(job) : stamp_kept_of(job);
}

std::int64_t RecordStream::stamp_kept_of(const JournaledJob& job) const {
  return state_.engine->jobs().journal_fields(job.ref).stamp();
}

// Returns the stamp of a buried job, which grows with each burial; 0 for other jobs.
std::int64_t RecordStream::stamp_of(const JournaledJob& job) {
  if (job.job.state() != JobState::buried) return 0;
  last_stamp_ = std::max(last_stamp_ + 1, (state_.now + state_.wall_offset).count());
  state_.engine->jobs().journal_fields(job.ref).set_stamp(last_stamp_);
  return last_stamp_;
}

// Writing and syncing -----------------------------------------------------------------------------

void RecordStream::flush() {
  write_from_ = kCollectedBytesMax;
  if (!writer_.is_open() || writer_.collected_bytes() == 0) return;
  // Records that were in doubt are synced once, when all are written again.
  const bool is_synced_each_time = state_.options.sync == SyncPolicy::every_turn && !refusing_;
  const DiskStatus status =
      writer_.flush(state_.disk, is_synced_each_time ? SegmentWriter::Ahead::zeros
                                                     : SegmentWriter::Ahead::nothing);
  if (status != DiskStatus::ok) {
    fail(status, "write");
    return;
  }
  mark_written();
}

void RecordStream::mark_written() {
  if (refusing_) return;  // These records were in doubt, and some are still missing.
  written_records_ = records_;
  switch (state_.options.sync) {
    case SyncPolicy::every_turn:
      unsynced_since_ = std::min(unsynced_since_, state_.now);
      break;
    case SyncPolicy::interval:
      unsynced_since_ = std::min(unsynced_since_, state_.now);
      safe_records_ = records_;
      break;
    case SyncPolicy::never:
      mark_safe(records_);
      break;
  }
}

// One sync at a time: records written while it is under way are covered by the next one.
void RecordStream::request_sync(bool is_waited_for) {
  if (refusing_ || unsynced_since_ == Instant::never()) return;
  if (sync_requested_ > synced_records_) return;
  if (state_.options.sync == SyncPolicy::interval && !is_waited_for &&
      state_.now < unsynced_since_ + state_.options.sync_interval) {
    return;
  }
  CHECK(writer_.is_open() && sync_requested_ <= written_records_);
  syncs_.sync_file(writer_.file(), written_records_, false, unsynced_since_);
  sync_requested_ = written_records_;
  durable_when_synced_ = writer_.written().bytes;
  unsynced_since_ = Instant::never();
}

Instant RecordStream::next_sync() const {
  const bool may_sync = unsynced_since_ != Instant::never() && sync_requested_ <= synced_records_;
  if (!may_sync || state_.options.sync != SyncPolicy::interval) return Instant::never();
  return unsynced_since_ + state_.options.sync_interval;
}

Instant RecordStream::oldest_unsynced() const {
  return std::min({unsynced_since_, syncs_.oldest(), doubtful_since_});
}

void RecordStream::sync_what_was_rewritten() {
  syncs_.sync_file(writer_.file(), records_, false);
}

void RecordStream::take_sync_ends() {
  const std::size_t before = syncs_.length();
  bool some_ended = false;
  SyncLine::Ended ended;
  while (syncs_.next_ended(ended)) {
    some_ended = true;
    if (ended.is_removal) events_.removal_ended(events_.object, ended.removal);
    if (ended.status != DiskStatus::ok) {
      doubtful_since_ = std::min(doubtful_since_, ended.oldest);
      fail(ended.status, "sync");
    } else if (ended.covers > 0) {
      synced_records_ = std::max(synced_records_, ended.covers);
      if (!refusing_) mark_safe(synced_records_);
      // Not with the last record alone: the seal after it may be in a sync of its own.
      if (!refusing_ && durable_when_synced_ && !syncs_.has_sync_of_file()) {
        writer_.set_durable(*durable_when_synced_);
      }
    }
  }
  events_.syncs_taken(events_.object, {some_ended, syncs_.length() != before});
}

// Marks all records up to that one as safe.
void RecordStream::mark_safe(std::uint64_t records) {
  CHECK(records <= records_ && unsafe_.size() <= records_);
  if (records > 0) note_.set_what_is_safe(noted_files(), records > records_before_newest_);
  safe_records_ = std::max(safe_records_, records);
  const std::uint64_t before = records_ - unsafe_.size();
  if (records > before) {
    unsafe_.erase(unsafe_.begin(), unsafe_.begin() + static_cast<std::ptrdiff_t>(records - before));
  }
}

NoteWriter::Files RecordStream::noted_files() const {
  const Segments& segments = *state_.segments;
  return {.oldest_needed = oldest_needed(),
          .newest = segments.empty() ? 0 : segments.newest().number,
          .next_id = state_.engine->next_id()};
}

void RecordStream::begin_anew() {
  refusing_ = false;
  refusing_for_space_ = false;
  doubtful_since_ = Instant::never();
  written_records_ = synced_records_ = sync_requested_ = records_;
}

void RecordStream::check_invariants() const {
  CHECK(safe_records_ <= records_);
  CHECK(synced_records_ <= records_ && written_records_ <= records_);
  CHECK(unsafe_.size() <= records_);
}

}  // namespace haricot::binlog
