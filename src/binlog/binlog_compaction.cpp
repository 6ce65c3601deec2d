// Compaction: the folder stays in proportion to the jobs that live in it.
//
// Always the oldest file: a deletion that is recorded in it can only be of a job that lived there
// or in a file that is gone. Its living jobs are written anew behind all others, and when those
// records are durable the file is removed.

#include <algorithm>
#include <new>

#include "haricot/base/check.hpp"
#include "haricot/binlog/binlog.hpp"
#include "haricot/binlog/job_record.hpp"
#include "haricot/binlog/keeper.hpp"

namespace haricot::binlog {
namespace {

// How much is copied in a turn: a bit always, and more where much is written.
constexpr std::uint64_t kBytesPerTurn = 64 * 1024;
constexpr std::uint64_t kBytesPerByteWritten = 2;
// The folder may have this many files' bytes, or that many times the bytes of the living jobs.
constexpr std::uint64_t kFilesMax = 3;
constexpr std::uint64_t kTimesLiveBytesMax = 3;
// Beyond this many times that, nobody goes on as if the disk could follow.
constexpr std::uint64_t kTimesAllowedMax = 3;
constexpr Duration kPauseAfterFailure = Duration::seconds(1);
constexpr Duration kPauseOnAFullDisk = Duration::milliseconds(50);

}  // namespace

std::uint64_t Binlog::garbage_of_oldest() const {
  const Segment& oldest = segments_->oldest();
  const std::uint64_t needed = oldest.live_bytes + kFirstRecordOffset + kShortRecordBytes;
  return oldest.bytes - std::min(oldest.bytes, needed);
}

std::uint64_t Binlog::garbage_of_newest() const {
  const std::uint64_t written = writer_.written().bytes + writer_.collected_bytes();
  const std::uint64_t needed = kFirstRecordOffset + segments_->newest().live_bytes;
  return written - std::min(written, needed);
}

// Where nearly all lives, copying would go round and round for nothing.
std::uint64_t Binlog::garbage_worth_collecting() const {
  return file_bytes_ / 2 + kShortRecordBytes;
}

bool Binlog::has_garbage_to_collect() const {
  if (refusing_ || segments_->size() < 2) return false;
  if (segments_->oldest().live_jobs == 0) return true;
  if (segments_->oldest().number <= gone_until_) return true;
  const std::uint64_t sealed = segments_->older_bytes();
  const std::uint64_t sealed_live = segments_->live_bytes() - segments_->newest().live_bytes;
  const std::uint64_t frames = (segments_->size() - 1) * (kFirstRecordOffset + kShortRecordBytes);
  std::uint64_t garbage = sealed - std::min(sealed, sealed_live + frames);
  // What is copied behind it will make a file of the past of the newest one.
  if (is_short_of_space()) garbage += garbage_of_newest();
  if (is_short_of_space() && garbage_of_oldest() >= segments_->oldest().bytes / 8) return true;
  if (garbage < std::min(sealed_live / 8, garbage_worth_collecting())) return false;
  if (is_short_of_space()) return true;
  return folder_bytes() > folder_bytes_allowed();
}

std::uint64_t Binlog::folder_bytes() const {
  return segments_->older_bytes() + writer_.allocated() + spares_.allocated();
}

std::uint64_t Binlog::folder_bytes_allowed() const {
  return std::max(kFilesMax * options_.file_bytes, kTimesLiveBytesMax * segments_->live_bytes());
}

void Binlog::compact() {
  compaction_waits_ = compaction_wants_large_ = false;
  if (now_ < compact_again_) return;
  const std::uint64_t until =
      appended_this_turn_ + kBytesPerTurn + kBytesPerByteWritten * appended_this_turn_;
  try {
    while (appended_this_turn_ < until && has_garbage_to_collect()) {
      const bool is_empty = segments_->oldest().live_jobs == 0;
      const CompactionStep step = is_empty ? remove_oldest() : compact_one();
      if (step == CompactionStep::did_some) continue;
      compaction_waits_ = step == CompactionStep::has_to_wait;
      return;
    }
  } catch (const std::bad_alloc&) {
    compact_again_ = now_ + kPauseAfterFailure;
  }
}

// Files go one at a time, and where syncs take long more may be begun meanwhile, without an end. So
// once the folder is far too large, no command begins a file as long as something is under way on
// the disk: its session waits for the disk, and nobody else does. When nothing is under way there
// is nothing to wait for, so a file that cannot be removed stops nobody.
bool Binlog::is_too_far_ahead() const {
  return syncs_.length() > 0 && folder_bytes() > kTimesAllowedMax * folder_bytes_allowed() &&
         has_garbage_to_collect();
}

// On a full disk, changes live on what compaction gives back, which comes with syncs: first of the
// records it has moved, then of the folder. Workers that are faster wait for it, as their answers
// would; the alternative is to refuse what a disk with garbage on it could take. False: nothing is
// going to come of it.
bool Binlog::collect_for_space() {
  if (refusing_ || !has_garbage_to_collect()) return false;
  if (!compaction_waits_ && !collected_for_space_) {
    collected_for_space_ = true;  // Once a turn, however many workers there are.
    compact_again_ = now_;        // It may have failed for want of space that is there by now.
    compact();
  }
  if (refusing_) return false;
  return compaction_waits_ || (compact_again_ <= now_ && has_garbage_to_collect());
}

Binlog::CompactionStep Binlog::compact_one() {
  Segment& oldest = segments_->oldest();
  CHECK(segments_->size() > 1 && oldest.first != JobRef::none);
  const JournaledJob job = engine_->journaled(oldest.first);
  const std::uint64_t bytes = full_record_bytes(job);
  if (const BlobRef body = large_body_of(job)) return compact_large(job, body);
  const JournalStatus room = make_room(bytes, room_for_deletes());
  if (room == JournalStatus::later) return CompactionStep::has_to_wait;
  if (room != JournalStatus::ok || !prepare(job.tube_name.size(), job.job.body_bytes)) {
    compact_again_ = now_ + (is_short_of_space() ? kPauseOnAFullDisk : kPauseAfterFailure);
    return CompactionStep::nothing_to_do;
  }
  append_full(job);
  oldest.moved_until = records_;
  ++records_migrated_;
  return CompactionStep::did_some;
}

// A body takes many turns, and may wait for another one.
Binlog::CompactionStep Binlog::compact_large(const JournaledJob& job, const BlobRef& body) {
  Segment& oldest = segments_->oldest();
  const std::size_t name_bytes = job.tube_name.size();
  const JournalStatus status =
      write_ahead(LargeUser::compaction, body, name_bytes, room_for_deletes());
  if (status == JournalStatus::later) return CompactionStep::has_to_wait;
  if (status != JournalStatus::ok || !prepare(0, 0)) {
    compact_again_ = now_ + kPauseAfterFailure;
    return CompactionStep::nothing_to_do;
  }
  append_full(job);
  oldest.moved_until = records_;
  ++records_migrated_;
  return CompactionStep::did_some;
}

// Writes down an id that nothing else in the folder tells of any more. Requires: no job has it.
JournalStatus Binlog::mark_id(JobId id) {
  const Record marker = marker_of(id);
  const std::uint64_t bytes = full_record_bytes(marker.tube_name.size(), 0) + kShortRecordBytes;
  const JournalStatus room = make_room(bytes, room_for_deletes());
  if (room != JournalStatus::ok) return room;
  if (!prepare(marker.tube_name.size(), 0)) return JournalStatus::full;
  append(marker, {}, {});
  if (refusing_ || !prepare(0, 0)) return JournalStatus::failed;
  append(deletion_of(id), {}, {});
  segments_->note_id(id, records_);
  return refusing_ ? JournalStatus::failed : JournalStatus::ok;
}

bool Binlog::remember_last_id() {
  JobId highest = 0;
  for (std::size_t i = 0; i < segments_->size(); ++i) {
    highest = std::max(highest, segments_->at(i).highest_id);
  }
  const JobId last = engine_->next_id() - 1;
  if (last <= highest) return true;
  JournalStatus status = mark_id(last);
  while (status == JournalStatus::later) {
    wait_for_disk();
    status = mark_id(last);
  }
  return status == JournalStatus::ok;
}

// The file behind the oldest that tells of this id or a higher one, and has done so for longest:
// the newest one always does in a busy server, and never durably so. Null: none.
const Segment* Binlog::teller_of(JobId id) const {
  const Segment* best = nullptr;
  for (std::size_t i = 1; i < segments_->size(); ++i) {
    const Segment& segment = segments_->at(i);
    if (segment.highest_id < id) continue;
    if (best == nullptr || segment.highest_record < best->highest_record) best = &segment;
  }
  return best;
}

// Writes down that the oldest file is not needed, so that nobody misses it. There is room for that
// in each file. On a full disk, where workers wait for the space, the note of the folder tells it:
// see note_removal(). On anything but ok: not now.
JournalStatus Binlog::note_oldest_needed(Segment& oldest) {
  if (oldest.unneeded_from != 0) return JournalStatus::ok;
  DiskSpace space;
  // It is short of space for want of memory, too.
  if (is_short_of_space() && disk_.space(space) && space.free_bytes < file_bytes_) {
    return JournalStatus::ok;
  }
  const bool is_kept = writer_.has_room_kept();
  if (!is_kept) {
    const JournalStatus room = make_room(kShortRecordBytes, room_for_deletes());
    if (room != JournalStatus::ok) return room;
  }
  if (!prepare(0, 0) || refusing_) return JournalStatus::failed;
  append(needed_from(segments_->at(1).number), {}, {}, is_kept);
  oldest.unneeded_from = records_;
  return JournalStatus::ok;
}

Binlog::CompactionStep Binlog::not_now(JournalStatus status) {
  if (status == JournalStatus::later) return CompactionStep::has_to_wait;
  compact_again_ = now_ + kPauseAfterFailure;
  return CompactionStep::nothing_to_do;
}

// Begins to remove the oldest file: removal_ended() tells how that went. To remove a large file
// takes the kernel long, so it is done where syncs are.
Binlog::CompactionStep Binlog::remove_oldest() {
  if (is_removing_) return CompactionStep::has_to_wait;
  Segment& oldest = segments_->oldest();
  // The highest id that this file tells of must not go with it: another file has to tell of it or
  // of a higher one, and durably so.
  std::uint64_t until = oldest.moved_until;
  if (const Segment* other = teller_of(oldest.highest_id)) {
    until = std::max(until, other->highest_record);
  } else {
    const JournalStatus marked = mark_id(oldest.highest_id);
    if (marked != JournalStatus::ok) return not_now(marked);
    until = records_;
  }
  const bool by_sync = options_.sync != SyncPolicy::never;
  const JournalStatus noted = note_oldest_needed(oldest);
  if (noted != JournalStatus::ok) return not_now(noted);
  until = std::max(until, oldest.unneeded_from);
  if (!by_sync) flush();  // No end of a sync will be there to come back here.
  if (refusing_) return CompactionStep::nothing_to_do;
  if (until > (by_sync ? synced_records_ : written_records_)) {
    return CompactionStep::has_to_wait;
  }
  // One removal after the other. If two names were on their way out, a crash might bring back the
  // older one alone: a job, and not its deletion, which stood in the other.
  if (by_sync && !syncs_.has_passed(removal_mark_)) return CompactionStep::has_to_wait;
  if (syncs_.length() >= SyncLine::kLengthMax) return CompactionStep::has_to_wait;
  if (oldest.unneeded_from == 0) note_removal();
  if (oldest.is_gone || oldest.has_to_be_kept) return drop_oldest_at_once();
  syncs_.remove_first(segment_name(oldest.name_number), by_sync);
  is_removing_ = true;
  return CompactionStep::has_to_wait;
}

// Where nothing is to be removed: it is gone, or is given another name.
Binlog::CompactionStep Binlog::drop_oldest_at_once() {
  if (remove_or_keep(segments_->oldest()) != DiskStatus::ok) {
    tell_removal_failed(disk_.last_error());
    compact_again_ = now_ + kPauseAfterFailure;
    return CompactionStep::nothing_to_do;
  }
  drop_oldest();
  if (options_.sync != SyncPolicy::never) removal_mark_ = syncs_.sync_folder_first();
  return CompactionStep::did_some;
}

// The oldest file that the next start has to find.
std::uint64_t Binlog::oldest_needed() const {
  const bool goes = is_removing_ && segments_->size() > 1;
  return segments_->at(goes ? 1 : 0).number;
}

void Binlog::removal_ended(DiskStatus status) {
  is_removing_ = false;
  if (status != DiskStatus::ok) {
    try {
      const std::string why = disk_.last_error();
      // One that is gone all the same, by whatever hand, must not be in the way for ever.
      const std::string name = segment_name(segments_->oldest().name_number);
      std::vector<std::string> names;
      const bool is_gone = disk_.list(names) == DiskStatus::ok &&
                           std::find(names.begin(), names.end(), name) == names.end();
      if (is_gone) status = DiskStatus::ok;
      if (is_gone && options_.sync != SyncPolicy::never) removal_mark_ = syncs_.sync_folder_first();
      if (!is_gone) tell_removal_failed(why);
    } catch (const std::bad_alloc&) {
      // It is tried again.
    }
  }
  if (status == DiskStatus::ok) {
    drop_oldest();
  } else {
    compact_again_ = now_ + kPauseAfterFailure;
  }
}

void Binlog::drop_oldest() {
  segments_->remove_oldest();
  spare_again_ = now_;  // There is space again.
}

void Binlog::tell_removal_failed(const std::string& why) {
  ++errors_;
  look_again_at_files_ = now_;
  notice({.kind = Notice::Kind::file_failed, .doing = "remove", .error = why}, failure_notice_at_);
}

}  // namespace haricot::binlog
