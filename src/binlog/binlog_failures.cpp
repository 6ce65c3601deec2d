// What happens when the disk fails: nothing that is in doubt is acknowledged, and all of it is
// written anew to another file, from memory.

#include <algorithm>
#include <new>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/binlog/binlog.hpp"
#include "haricot/binlog/job_record.hpp"

namespace haricot::binlog {
namespace {

constexpr Duration kPauseBetweenTries = Duration::seconds(1);
// Space may come back at any time, and to ask for it costs little.
constexpr Duration kPauseOnAFullDisk = Duration::milliseconds(50);
constexpr Duration kPauseBetweenNotices = Duration::seconds(30);
constexpr std::uint64_t kRewrittenBytesPerTurn = 1024 * 1024;
constexpr std::string_view kNoSpace = "no space or no memory left";

}  // namespace

// A failed write leaves undefined what stands behind the last good one, and a failed sync what of
// the file is on the disk: the kernel may have dropped what it could not write, and say nothing the
// next time. So the file is cut back to what was written, and not written to any more.
//
// Memory may be missing too, or be what failed (`why` says so). Then the log is not told why.
void Binlog::fail(DiskStatus status, std::string_view doing, std::string_view why,
                  Notice::Kind kind) noexcept {
  std::string reason;
  try {
    reason = why.empty() ? disk_.last_error() : std::string(why);
  } catch (const std::bad_alloc&) {
    reason.clear();
  }
  ++errors_;
  const bool was_refusing = std::exchange(refusing_, true);
  refusing_for_space_ = status == DiskStatus::full;
  // Whatever it was, the folder may be another one, or have none of our files.
  if (status == DiskStatus::failed) has_to_return_ = true;
  // The first try to recover comes at once; before those that follow there is a pause.
  retry_at_ = was_refusing ? now_ + pause_before_next_try() : now_;
  if (was_refusing) {
    doubtful_records_ = records_;
    DiskSpace space;
    free_at_failure_ = disk_.space(space) ? space.free_bytes : 0;
    retry_for_no_reason_at_ = now_ + kPauseBetweenTries;
  }
  syncs_.abandon();
  large_.drop();
  is_removing_ = false;  // If it has begun, the next try finds the file gone.
  sync_requested_ = synced_records_;
  unsynced_since_ = Instant::never();
  if (writer_.is_open()) {
    const std::uint64_t bytes = writer_.written().bytes;
    const FileHandle file = writer_.abandon();
    if (!segments_->empty()) segments_->newest().bytes = bytes;
    (void)disk_.truncate(file, bytes);
    syncs_.close(file);
  }
  previous_.reset();
  rewrite_.clear();
  if (was_refusing) forget_failed_files();
  const std::size_t told = notices_.size();
  try {
    last_failure_ = reason;
    notice({.kind = kind, .doing = std::string(doing), .error = reason},
           kind == Notice::Kind::gone ? gone_notice_at_ : failure_notice_at_);
  } catch (const std::bad_alloc&) {
    // The numbers in `stats` tell it all the same.
  }
  failure_was_told_ = failure_was_told_ || notices_.size() > told;
}

Duration Binlog::pause_before_next_try() const {
  return refusing_for_space_ ? kPauseOnAFullDisk : kPauseBetweenTries;
}

// A try to recover that failed leaves files of which nothing is known to be on the disk. All they
// had comes again with the next try.
void Binlog::forget_failed_files() {
  while (recovery_serial_ != 0 && !segments_->empty() &&
         segments_->newest().serial >= recovery_serial_) {
    Segment& failed = segments_->newest();
    if (gone_until_ != 0 && segments_->size() > 1) {
      // All jobs are written anew, and those that were must not be passed over the next time.
      if (remove_failed(failed.number)) {
        segments_->merge_newest();
        gone_until_ = std::max(gone_until_, segments_->newest().number);
        continue;
      }
      gone_until_ = failed.number;
      break;
    }
    while (failed.first != JobRef::none) {
      segments_->detach(failed.first, full_record_bytes(engine_->journaled(failed.first)));
    }
    if (!remove_failed(failed.number)) break;
    segments_->remove_newest();
  }
  recovery_serial_ = 0;
}

bool Binlog::remove_failed(std::uint64_t number) {
  try {
    return disk_.remove(segment_name(number)) == DiskStatus::ok;
  } catch (const std::bad_alloc&) {
    return false;  // As one that cannot be removed.
  }
}

// Recovering --------------------------------------------------------------------------------------

void Binlog::try_to_recover() {
  recovery_waits_ = false;
  if (!writer_.is_open()) {
    if (now_ < retry_at_ || !begin_recovery()) return;
  }
  if (!has_to_rewrite() || !rewrite_some() || has_to_rewrite()) return;
  if (options_.sync == SyncPolicy::never) {
    while (remove_one_left_behind()) {
    }
    recovered();
  } else {
    syncs_.sync_file(writer_.file(), records_, false);
    take_sync_ends();
  }
}

// Opens a file and lists what has to go into it. False: it could not be had, and the next try comes
// after a pause.
bool Binlog::begin_recovery() {
  retry_at_ = now_ + pause_before_next_try();
  if (syncs_.length() > SyncLine::kLengthMax / 2) return false;  // Old ones that have yet to end.
  if (has_to_return_ && !return_to_folder()) {
    doubtful_records_ = records_;
    return false;
  }
  // A try that got as far as writing is not made again before there is a reason to.
  DiskSpace space;
  const bool is_as_full = refusing_for_space_ && now_ < retry_for_no_reason_at_ &&
                          disk_.space(space) && space.free_bytes <= free_at_failure_;
  if (is_as_full) return false;
  if (spares_.empty()) {
    spare_again_ = now_;
    if (!add_spare(0, file_bytes_)) {
      retry_at_ = now_ + pause_before_next_try();
      doubtful_records_ = records_;
      has_to_return_ = !is_short_of_space();
      return false;
    }
  }
  // The list comes before the file: with a file and no list, nothing would seem to be left to do.
  if (!list_what_is_unsafe() || !prepare_spare(0) || !begin_file()) {
    doubtful_records_ = records_;
    has_to_return_ = has_to_return_ || !is_short_of_space();
    return false;
  }
  recovery_serial_ = segments_->newest().serial;
  rewritten_until_ = 0;
  is_unneeded_noted_ = false;
  return true;
}

bool Binlog::has_to_rewrite() const {
  if (!rewrite_.empty()) return true;
  return gone_until_ != 0 && (!is_unneeded_noted_ || with_jobs_to_rewrite(rewritten_until_));
}

bool Binlog::list_what_is_unsafe() {
  try {
    rewrite_ = unsafe_;
    // That no older file is needed is told behind all that was in them.
    if (gone_until_ != 0) std::erase(rewrite_, kPseudoId);
    if (rewrite_.empty()) rewrite_.push_back(0);  // No job, but a file that has to be synced.
  } catch (const std::bad_alloc&) {
    rewrite_.clear();
    return false;
  }
  std::sort(rewrite_.begin(), rewrite_.end(), std::greater<>());
  rewrite_.erase(std::unique(rewrite_.begin(), rewrite_.end()), rewrite_.end());
  return true;
}

bool Binlog::rewrite_some() {
  std::uint64_t before = writer_.collected_bytes();
  std::uint64_t rewritten = 0;
  while (has_to_rewrite() && rewritten < kRewrittenBytesPerTurn) {
    const JobId id = next_to_rewrite();
    if (!rewrite(id)) return false;
    if (!rewrite_.empty()) {
      rewrite_.pop_back();
    } else {
      is_unneeded_noted_ = id == kPseudoId;
    }
    const std::uint64_t now = writer_.collected_bytes();
    rewritten += now > before ? now - before : now;
    before = now;
  }
  flush();
  return writer_.is_open();
}

// What was noted of the oldest file, as it is now. If files are gone, what is written now is all
// that is needed.
std::uint64_t Binlog::number_needed_from() const {
  std::size_t place = 0;
  while (place + 1 < segments_->size() && segments_->at(place).number <= gone_until_) ++place;
  const bool goes = place == 0 && segments_->oldest().unneeded_from != 0 && segments_->size() > 1;
  return segments_->at(goes ? 1 : place).number;
}

// The job as it is now, or that it is no more.
bool Binlog::rewrite(JobId id) {
  const JobRef ref = engine_->jobs().find(id);
  if (id == 0) return true;
  const bool exists = ref != JobRef::none;
  std::uint64_t bytes = kShortRecordBytes;
  std::size_t name_bytes = 0;
  std::size_t body_bytes = 0;
  if (exists) {
    const JournaledJob job = engine_->journaled(ref);
    bytes = full_record_bytes(job);
    name_bytes = job.tube_name.size();
    body_bytes = job.job.body_bytes;
    if (const BlobRef body = large_body_of(job)) return rewrite_large(job, body);
  }
  const JournalStatus room = make_room(bytes, 0);
  recovery_waits_ = room == JournalStatus::later;
  if (recovery_waits_) return false;
  if (room != JournalStatus::ok || !writer_.prepare(name_bytes, body_bytes)) {
    if (room != JournalStatus::failed) {
      fail(DiskStatus::full, "write", kNoSpace);
    } else if (writer_.is_open()) {
      fail(DiskStatus::failed, "write", spares_.why());
    }  // Else the next file could not be begun, and fail() was called.
    return false;
  }
  ++records_written_;
  if (id == kPseudoId) {
    writer_.add(needed_from(number_needed_from()), {}, {});
    return true;
  }
  if (!exists) {
    writer_.add(deletion_of(id), {}, {});
    return true;
  }
  const JournaledJob job = engine_->journaled(ref);
  const Record record = move_to_newest(job, engine_->jobs().journal_note(ref).stamp(), records_);
  const BlobRef blob = engine_->jobs().body_blob(ref);
  writer_.add(record, blob ? std::string_view{} : engine_->jobs().body(ref), blob);
  return true;
}

// The same of a job with a large body, over as many turns as it takes.
bool Binlog::rewrite_large(const JournaledJob& job, const BlobRef& body) {
  const JournalStatus status = write_ahead(LargeUser::recovery, body, job.tube_name.size(), 0);
  if (status == JournalStatus::later) {
    recovery_waits_ = !large_.has_work();
    return false;
  }
  if (status != JournalStatus::ok) {
    const bool is_full = status == JournalStatus::full;
    // Else a sync has failed, and fail() was called.
    if (writer_.is_open()) {
      fail(is_full ? DiskStatus::full : DiskStatus::failed, "write",
           is_full ? std::string_view(kNoSpace) : std::string_view(large_.why()));
    }
    return false;
  }
  Record record =
      change_of(job, engine_->jobs(), wall_offset_, engine_->jobs().journal_note(job.ref).stamp());
  record.tube_name = job.tube_name;
  if (!rotate(&record)) return false;
  ++records_written_;
  segments_->attach(job.ref, full_record_bytes(job));
  segments_->note_id(record.id, records_);
  return true;
}

void Binlog::recovered() {
  refusing_ = false;
  refusing_for_space_ = false;
  recovery_serial_ = 0;
  retry_at_ = Instant::never();
  removal_mark_ = 0;  // The folder was synced for the new file.
  written_records_ = synced_records_ = sync_requested_ = records_;
  forget_those_gone();
  look_again_at_files_ = now_;
  hold(records_);
  if (!std::exchange(failure_was_told_, false)) return;
  try {
    notices_.push_back({.kind = Notice::Kind::recovered, .file = segment_name(writer_.number())});
  } catch (const std::bad_alloc&) {
    // It is, whether the log is told or not.
  }
}

// Adds a notice for the log, unless one of its kind came not long ago.
void Binlog::notice(Notice notice, Instant& not_before) {
  if (now_ < not_before) return;
  notices_.push_back(std::move(notice));
  not_before = now_ + kPauseBetweenNotices;
}

}  // namespace haricot::binlog
