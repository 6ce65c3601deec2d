#include "haricot/binlog/binlog.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/binlog/job_record.hpp"

// Closing, and the way of a record: collected, written, synced. Opening is in binlog_opening.cpp,
// files and their space are in binlog_files.cpp, compaction in binlog_compaction.cpp, what happens
// when the disk fails in binlog_failures.cpp, when files are taken away in binlog_gone.cpp, and the
// note of the folder in binlog_note.cpp.

namespace haricot::binlog {
namespace {

// So much is collected at most before it is written, whether the turn is over or not.
constexpr std::uint64_t kCollectedBytesMax = 1024 * 1024;
constexpr std::uint64_t kFileBytesUnit = 4096;
constexpr std::size_t kOpenFilesMin = 6;
// How soon it is noticed that there is space again for a job that is larger than a file.
constexpr Duration kPauseBetweenLooks = Duration::milliseconds(50);
constexpr Duration kWallClockNoise = Duration::milliseconds(100);

BinlogOptions with_whole_units(BinlogOptions options) {
  constexpr std::uint64_t kMax = std::uint64_t{1} << 40;
  const std::uint64_t bytes = std::clamp(options.file_bytes, kFileBytesUnit, kMax);
  options.file_bytes = (bytes + kFileBytesUnit - 1) / kFileBytesUnit * kFileBytesUnit;
  options.open_files_max = std::max(options.open_files_max, kOpenFilesMin);
  options.slice_bytes = std::max(options.slice_bytes, std::uint64_t{1});
  return options;
}

}  // namespace

Binlog::Binlog(Disk& disk, const BinlogOptions& options)
    : disk_(disk),
      options_(with_whole_units(options)),
      spares_(disk),
      syncs_(disk),
      large_(disk, syncs_, options_.slice_bytes, options_.sync != SyncPolicy::never),
      file_bytes_(options_.file_bytes) {}

Binlog::~Binlog() = default;

// Closing -----------------------------------------------------------------------------------------

bool Binlog::close(Instant now) {
  if (is_closed_ || engine_ == nullptr) return true;
  now_ = std::max(now_, now);
  retry_at_ = now_;
  look_again_at_files_ = now_;
  look_for_files();
  // What compaction has still to write anew is written at once.
  if (!refusing_ && gone_until_ != 0) {
    fail(DiskStatus::failed, "find", "files were taken away", Notice::Kind::gone);
  }
  flush();
  const auto wait_for_syncs = [this] {
    while (syncs_.length() > 0) {
      disk_.wait_for_sync();
      take_sync_ends();
    }
  };
  // A try to recover takes as many rounds as there is to rewrite; it ends well or with no file.
  if (refusing_) try_to_recover();
  while (refusing_ && writer_.is_open()) {
    wait_for_syncs();
    go_on_with_large();
    if (refusing_ && writer_.is_open()) try_to_recover();
  }
  large_.drop();
  while (large_.has_work()) (void)large_.go_on();
  std::optional<WrittenPoint> end;
  if (!refusing_) {
    const SegmentWriter::Ending ending = writer_.take_ending(true, oldest_needed());
    end = ending.end;
    const DiskStatus status = SegmentWriter::seal(disk_, ending);
    if (status != DiskStatus::ok) {
      fail(status, "write");
      syncs_.close(ending.file);
    } else if (options_.sync == SyncPolicy::never) {
      disk_.close(ending.file);
    } else {
      syncs_.sync_file(ending.file, records_, true);
      syncs_.sync_folder();
    }
  }
  wait_for_syncs();
  if (end && !refusing_) note_clean_stop(*end);
  if (is_short_of_space()) {
    leave_room();
  } else {
    spares_.remove_all();
  }
  is_closed_ = true;
  const bool all_written = !refusing_;
  if (!all_written) {
    doubtful_records_ = records_;
    try {
      notices_.push_back({.kind = Notice::Kind::not_written});
    } catch (const std::bad_alloc&) {
      // Then the result alone says so.
    }
  }
  return all_written;
}

void Binlog::set_wall_offset(Duration offset) {
  const Duration change = Instant::at(offset.count()) - Instant::at(wall_offset_.count());
  if (change > kWallClockNoise || Duration::nanoseconds(-change.count()) > kWallClockNoise) {
    wall_offset_ = offset;
  }
}

std::optional<Notice> Binlog::next_notice() {
  if (notices_.empty()) return std::nullopt;
  Notice first = std::move(notices_.front());
  notices_.erase(notices_.begin());
  return first;
}

// Records -----------------------------------------------------------------------------------------

bool Binlog::may_try_again() {
  if (!is_time_to_try_again()) return false;
  told_later_ = told_busy_ = put_wants_large_ = false;
  return true;
}

JournalStatus Binlog::tell_later() {
  if (!told_later_) disk_moved_ = false;
  told_later_ = true;
  return JournalStatus::later;
}

void Binlog::wait_for_disk() {
  if (syncs_.length() == 0) return;
  disk_.wait_for_sync();
  take_sync_ends();
}

JournalStatus Binlog::refusal() const {
  return refusing_for_space_ ? JournalStatus::full : JournalStatus::failed;
}

// All memory that a record needs. False: there is none.
bool Binlog::prepare(std::size_t name_bytes, std::size_t body_bytes) {
  try {
    if (unsafe_.size() == unsafe_.capacity()) unsafe_.reserve(2 * unsafe_.size() + 64);
  } catch (const std::bad_alloc&) {
    return false;
  }
  return writer_.prepare(name_bytes, body_bytes);
}

JournalStatus Binlog::reserve_put(std::size_t tube_name_bytes, std::size_t body_bytes,
                                  const BlobRef& body) {
  const JournalStatus status = room_for_put(tube_name_bytes, body_bytes, body);
  const bool is_refused = status != JournalStatus::ok && status != JournalStatus::later;
  if (is_refused) ++refused_puts_;
  return status;
}

JournalStatus Binlog::room_for_put(std::size_t name_bytes, std::size_t body_bytes,
                                   const BlobRef& body) {
  if (refusing_ || !writer_.is_open()) return refusal();
  if (body && has_written_much()) return tell_busy();
  const std::uint64_t bytes = full_record_bytes(name_bytes, body_bytes);
  const std::uint64_t share = kShortRecordBytes + std::min(bytes, file_bytes_);
  const std::uint64_t keep = room_for_puts() + share;
  const JournalStatus status = is_large(body) ? room_for_large_put(body, name_bytes, keep)
                                              : make_room_for_command(bytes, keep);
  if (status == JournalStatus::full) {
    // A job larger than a file counts as one of a file's size: to keep so much more room for it
    // would take space from others.
    missing_room_ = share + std::min(bytes, file_bytes_);
    missing_record_ = bytes;
    const std::size_t told = notices_.size();
    notice({.kind = Notice::Kind::no_space}, space_notice_at_);
    missing_room_was_told_ = missing_room_was_told_ || notices_.size() > told;
  }
  if (status != JournalStatus::ok) return status;
  // What is large is not collected.
  const bool good = is_large(body) ? prepare(0, 0) : prepare(name_bytes, body_bytes);
  return good ? JournalStatus::ok : JournalStatus::full;
}

// Looks whether there is room now for the put that was refused. Producers may have given up, so no
// put may come that would find out.
void Binlog::look_for_space() {
  if (missing_room_ == 0 || now_ < look_again_) return;
  while (ahead() < room_for_puts() + missing_room_) {
    if (!add_spare(0, room_for_puts() + missing_room_ - ahead())) return;
  }
  // A job larger than a file gets a file of its own, which is made for it when it comes.
  DiskSpace space;
  const bool wants_own_file = missing_record_ > file_bytes_;
  if (wants_own_file && disk_.space(space) && space.free_bytes < missing_record_) {
    look_again_ = now_ + kPauseBetweenLooks;
    return;
  }
  missing_room_ = 0;
  if (!std::exchange(missing_room_was_told_, false)) return;
  try {
    notices_.push_back({.kind = Notice::Kind::space_again});
  } catch (const std::bad_alloc&) {
    // There is space all the same, and `stats` says so.
  }
}

JournalStatus Binlog::reserve_update() {
  if (refusing_ || !writer_.is_open()) return refusal();
  JournalStatus status =
      make_room_for_command(kShortRecordBytes, room_for_deletes() + room_to_go_on());
  if (status == JournalStatus::full && collect_for_space()) status = tell_later();
  if (status != JournalStatus::ok) return status;
  return prepare(0, 0) ? JournalStatus::ok : JournalStatus::full;
}

JournalStatus Binlog::reserve_delete() {
  if (refusing_ || !writer_.is_open()) return JournalStatus::failed;
  const JournalStatus status = make_room_for_command(kShortRecordBytes, 0);
  if (status == JournalStatus::later) return status;
  return status == JournalStatus::ok && prepare(0, 0) ? JournalStatus::ok : JournalStatus::failed;
}

// Where the file that is being written has not enough room left, that is given up for the next one;
// the room for all other deletions has to be there besides.
JournalStatus Binlog::reserve_deletes(std::uint32_t deletions) {
  if (refusing_ || !writer_.is_open()) return JournalStatus::failed;
  const std::uint64_t bytes = std::uint64_t{deletions} * kShortRecordBytes;
  // No write may come, and fail, between the first of them and the last.
  if (writer_.collected_bytes() + bytes >= kCollectedBytesMax) flush();
  if (refusing_ || !writer_.is_open()) return JournalStatus::failed;
  const std::uint64_t keep = writer_.room() < bytes ? room_for_deletes() : 0;
  const JournalStatus status = make_room_for_command(bytes, keep);
  if (status != JournalStatus::ok) return status;
  try {
    if (unsafe_.capacity() - unsafe_.size() < deletions) {
      unsafe_.reserve(2 * unsafe_.size() + deletions);
    }
  } catch (const std::bad_alloc&) {
    return JournalStatus::full;
  }
  return writer_.prepare_short(deletions) ? JournalStatus::ok : JournalStatus::full;
}

void Binlog::record_put(const JournaledJob& job) {
  append_full(job);
}

void Binlog::record_update(const JournaledJob& job) {
  append(change_of(job, engine_->jobs(), wall_offset_, stamp_of(job)), {}, {});
}

void Binlog::record_delete(const JournaledJob& job) {
  segments_->detach(job.ref, full_record_bytes(job));
  append(deletion_of(job.job.id), {}, {});
}

// Buried jobs are written with a number that grows with each burial.
std::int64_t Binlog::stamp_of(const JournaledJob& job) {
  if (job.job.state() != JobState::buried) return 0;
  last_stamp_ = std::max(last_stamp_ + 1, (now_ + wall_offset_).count());
  engine_->jobs().journal_note(job.ref).set_stamp(last_stamp_);
  return last_stamp_;
}

void Binlog::append_full(const JournaledJob& job) {
  const JobStore& jobs = engine_->jobs();
  std::int64_t stamp = engine_->jobs().journal_note(job.ref).stamp();
  if (segments_->of(job.ref) == nullptr) stamp = stamp_of(job);
  if (large_.is_for(large_body_of(job), job.tube_name.size())) {
    append_large(job, stamp);
    return;
  }
  const Record record = move_to_newest(job, stamp, records_ + 1);
  const BlobRef blob = jobs.body_blob(job.ref);
  append(record, blob ? std::string_view{} : jobs.body(job.ref), blob);
}

// The full record of a job, which lives in the newest file from here on. `number` is that of the
// record that has to be durable for the id to be known there.
Record Binlog::move_to_newest(const JournaledJob& job, std::int64_t stamp, std::uint64_t number) {
  Record record = change_of(job, engine_->jobs(), wall_offset_, stamp);
  record.tube_name = job.tube_name;
  segments_->attach(job.ref, full_record_bytes(job));
  segments_->note_id(record.id, number);
  return record;
}

void Binlog::append(const Record& record, std::string_view body, const BlobRef& blob,
                    bool to_room_kept) {
  CHECK(writer_.is_open());
  const std::uint64_t before = writer_.collected_bytes();
  if (to_room_kept) {
    writer_.add_to_room_kept(record);
  } else {
    writer_.add(record, body, blob);
  }
  unsafe_.push_back(record.id);
  ++records_;
  ++records_written_;
  appended_this_turn_ += writer_.collected_bytes() - before;
  if (writer_.collected_bytes() >= kCollectedBytesMax) flush();
}

// Writing and syncing -----------------------------------------------------------------------------

void Binlog::flush() {
  if (!writer_.is_open() || writer_.collected_bytes() == 0) return;
  const DiskStatus status = writer_.flush(disk_);
  if (status != DiskStatus::ok) {
    fail(status, "write");
    return;
  }
  note_written();
}

// All records are written.
void Binlog::note_written() {
  if (refusing_) return;  // What is written now is what was in doubt, and not all of it yet.
  written_records_ = records_;
  switch (options_.sync) {
    case SyncPolicy::every_turn:
      unsynced_since_ = std::min(unsynced_since_, now_);
      break;
    case SyncPolicy::interval:
      unsynced_since_ = std::min(unsynced_since_, now_);
      held_records_ = records_;
      break;
    case SyncPolicy::never:
      hold(records_);
      break;
  }
}

// One at a time: what is written while a sync is under way is covered by the next one.
void Binlog::request_sync() {
  if (refusing_ || unsynced_since_ == Instant::never()) return;
  if (sync_requested_ > synced_records_) return;
  // Files go, and space comes back on a full disk, when the jobs that compaction has moved are
  // durable.
  const bool is_waited_for = told_later_ || (compaction_waits_ && is_short_of_space());
  if (options_.sync == SyncPolicy::interval && !is_waited_for &&
      now_ < unsynced_since_ + options_.sync_interval) {
    return;
  }
  sync_written();
}

void Binlog::sync_written() {
  CHECK(writer_.is_open() && sync_requested_ <= written_records_);
  syncs_.sync_file(writer_.file(), written_records_, false);
  sync_requested_ = written_records_;
  unsynced_since_ = Instant::never();
}

void Binlog::take_sync_ends() {
  const std::size_t before = syncs_.length();
  SyncLine::Ended ended;
  while (syncs_.next_ended(ended)) {
    compaction_waits_ = false;
    if (ended.is_removal) removal_ended(ended.removal);
    if (ended.status != DiskStatus::ok) {
      fail(ended.status, "sync");
    } else if (ended.covers > 0) {
      synced_records_ = std::max(synced_records_, ended.covers);
      if (!refusing_) hold(synced_records_);
    }
  }
  // Also by the end of one that was forgotten, whose file is closed by now.
  if (syncs_.length() != before) disk_moved_ = true;
  const bool all_rewritten = refusing_ && writer_.is_open() && !has_to_rewrite();
  if (!all_rewritten || syncs_.length() > 0) return;
  if (remove_one_left_behind()) {
    syncs_.sync_folder();  // At its end this is asked again.
  } else {
    recovered();
  }
}

// Everything up to that record is as safe as the policy wants it.
void Binlog::hold(std::uint64_t records) {
  CHECK(records <= records_ && unsafe_.size() <= records_);
  note_what_is_safe(records);
  held_records_ = std::max(held_records_, records);
  const std::uint64_t before = records_ - unsafe_.size();
  if (records > before) {
    unsafe_.erase(unsafe_.begin(), unsafe_.begin() + static_cast<std::ptrdiff_t>(records - before));
  }
}

void Binlog::end_turn(Instant now) {
  now_ = std::max(now_, now);
  if (is_closed_ || engine_ == nullptr) return;
  look_for_files();  // Before anything counts as safe.
  take_sync_ends();
  flush();
  go_on_with_large();
  if (refusing_) {
    try_to_recover();
  } else {
    compact();
    end_moving_those_gone();
    flush();
    if (!refusing_) look_for_space();
    if (!refusing_) tend_spares();
  }
  request_sync();
  // One may have ended meanwhile. What is asked for behind it is left for the next turn, which its
  // end begins.
  take_sync_ends();
  request_sync();
  drop_unclaimed_large();
  appended_this_turn_ = 0;
  collected_for_space_ = false;
}

Instant Binlog::next_event() const {
  if (is_closed_ || engine_ == nullptr) return Instant::never();
  if (is_time_to_try_again() || large_.has_work()) return Instant{};
  if (refusing_) {
    if (!writer_.is_open()) return retry_at_;
    // Waits for a sync, or has work left.
    return !has_to_rewrite() || recovery_waits_ ? Instant::never() : Instant{};
  }
  Instant next = Instant::never();
  const bool may_sync = unsynced_since_ != Instant::never() && sync_requested_ <= synced_records_;
  if (may_sync && options_.sync == SyncPolicy::interval) {
    next = unsynced_since_ + options_.sync_interval;
  }
  if (!compaction_waits_ && has_garbage_to_collect()) next = std::min(next, compact_again_);
  if (spares_left_to_tend_) return Instant{};
  // Space may have come back by whatever hand. The turn makes time go on here, so that whoever puts
  // a job next asks for it.
  if (spare_status_ != DiskStatus::ok && now_ < spare_again_) next = std::min(next, spare_again_);
  if (missing_room_ > 0 && now_ < look_again_) next = std::min(next, look_again_);
  return next;
}

// Looking in --------------------------------------------------------------------------------------

JournalNumbers Binlog::numbers() const {
  if (engine_ == nullptr) return {};
  const bool empty = segments_->empty();
  return JournalNumbers{.is_kept = true,
                        .oldest_index = empty ? 0 : segments_->oldest().number,
                        .current_index = empty ? 0 : segments_->newest().number,
                        .records_migrated = records_migrated_,
                        .records_written = records_written_,
                        .errors = errors_,
                        .refusing = refusing_,
                        .no_space = missing_room_ > 0 || (refusing_ && refusing_for_space_),
                        .refused_puts = refused_puts_};
}

std::uint64_t Binlog::file_of(JobRef job) const {
  const Segment* segment = segments_->of(job);
  return segment == nullptr ? 0 : segment->name_number;
}

void Binlog::check_invariants() const {
  if (engine_ == nullptr) return;
  CHECK(held_records_ <= records_);
  CHECK(synced_records_ <= records_ && written_records_ <= records_);
  CHECK(unsafe_.size() <= records_);
  // While it recovers, jobs may live in no file: they are on the list of what is to be written.
  if (refusing_) return;
  segments_->check_invariants();
  CHECK(writer_.is_open() || is_closed_);
  if (!is_closed_) CHECK(writer_.number() == segments_->newest().number);
}

}  // namespace haricot::binlog
