#include "haricot/binlog/write/record_syncs.hpp"

#include <algorithm>
#include <cstddef>

#include "haricot/base/check.hpp"

namespace haricot::binlog {

// One sync at a time: records written while it is under way are covered by the next one.
void RecordSyncs::request(bool is_waited_for) {
  RecordProgress& progress = stream_.progress;
  if (refusal_.is_on() || progress.unsynced_since() == Instant::never()) return;
  if (progress.is_sync_under_way()) return;
  if (state_.options.sync == SyncPolicy::interval && !is_waited_for &&
      state_.now < progress.unsynced_since() + state_.options.sync_interval) {
    return;
  }
  CHECK(stream_.writer.is_open());
  stream_.sync_line.sync_file(stream_.writer.file(), progress.written(), false,
                              progress.unsynced_since());
  progress.request_sync();
  durable_when_synced_ = stream_.writer.written().bytes;
}

Instant RecordSyncs::next() const {
  const RecordProgress& progress = stream_.progress;
  const bool may_sync =
      progress.unsynced_since() != Instant::never() && !progress.is_sync_under_way();
  if (!may_sync || state_.options.sync != SyncPolicy::interval) return Instant::never();
  return progress.unsynced_since() + state_.options.sync_interval;
}

void RecordSyncs::request_of_rewritten() {
  stream_.sync_line.sync_file(stream_.writer.file(), stream_.progress.records(), false);
}

void RecordSyncs::request_of_ended(FileHandle file) {
  if (!state_.has_syncs()) {
    state_.disk.close(file);
    return;
  }
  RecordProgress& progress = stream_.progress;
  if (refusal_.is_on()) {
    // Records that were in doubt are safe only when all of them are written again.
    stream_.sync_line.sync_file(file, 0, true);
    return;
  }
  stream_.sync_line.sync_file(file, progress.written(), true, progress.unsynced_since());
  progress.request_sync();
  durable_when_synced_ = 0;
}

void RecordSyncs::take_ends() {
  RecordProgress& progress = stream_.progress;
  const std::size_t before = stream_.sync_line.length();
  bool some_ended = false;
  SyncLine::Ended ended;
  while (stream_.sync_line.next_ended(ended)) {
    some_ended = true;
    if (ended.is_removal) stream_.events.removal_ended(stream_.events.object, ended.removal);
    if (ended.status != DiskStatus::ok) {
      progress.doubt_since(ended.oldest);
      refusal_.begin(ended.status, "sync");
    } else if (ended.covers > 0) {
      progress.end_sync(ended.covers);
      if (!refusal_.is_on()) mark_safe(progress.synced());
      // Not with the last record alone: the seal after it may be in a sync of its own.
      if (!refusal_.is_on() && durable_when_synced_ && !stream_.sync_line.has_sync_of_file()) {
        stream_.writer.set_durable(*durable_when_synced_);
      }
    }
  }
  stream_.events.syncs_taken(stream_.events.object,
                             {some_ended, stream_.sync_line.length() != before});
}

void RecordSyncs::wait_for_one() {
  if (stream_.sync_line.length() == 0) return;
  state_.disk.wait_for_sync();
  take_ends();
}

void RecordSyncs::wait_for_all() {
  while (stream_.sync_line.length() > 0) wait_for_one();
}

void RecordSyncs::sync_all() {
  wait_for_all();
  request(true);
  wait_for_all();
}

void RecordSyncs::mark_written() {
  if (refusal_.is_on()) return;  // These records were in doubt, and some are still missing.
  if (state_.has_syncs()) stream_.progress.begin_to_wait(state_.now);
  mark_file_written();
}

void RecordSyncs::mark_file_written() {
  if (refusal_.is_on()) return;
  RecordProgress& progress = stream_.progress;
  progress.mark_written();
  if (state_.options.sync == SyncPolicy::interval) progress.mark_safe_at_risk();
  if (state_.options.sync == SyncPolicy::never) mark_safe(progress.records());
}

void RecordSyncs::mark_safe(std::uint64_t records) {
  RecordProgress& progress = stream_.progress;
  // Without syncs a file that the note names may be lost with the power.
  if (records > 0 && state_.has_syncs()) {
    stream_.note.set_safe_files(stream_.noted_files(), progress.is_in_newest_file(records));
  }
  progress.mark_safe(records);
}

// The start has synced the files that it read. Otherwise the file before is not durable yet, and no
// sync under way covers a byte of this one.
void RecordSyncs::begin_file(bool is_first) {
  stream_.progress.begin_file();
  durable_when_synced_.reset();
  if (is_first && state_.has_syncs()) stream_.writer.set_durable(0);
}

void RecordSyncs::resume_file(std::uint64_t end_bytes) {
  if (state_.has_syncs()) stream_.writer.set_durable(end_bytes);
}

}  // namespace haricot::binlog
