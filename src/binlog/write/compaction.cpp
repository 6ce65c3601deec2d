#include "haricot/binlog/write/compaction.hpp"

#include <algorithm>
#include <new>

#include "haricot/base/check.hpp"
#include "haricot/base/turn_limits.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/format/job_record.hpp"
#include "haricot/binlog/write/quarantine.hpp"

namespace haricot::binlog {
namespace {

// If the folder exceeds its allowed size this many times, commands wait for the disk.
constexpr std::uint64_t kTimesAllowedMax = 3;
// Divisor of the garbage worth collecting if a change lacks room.
constexpr std::uint64_t kShareForAChange = 4;
// Bytes of a file besides the records of jobs: its head, its seal, and one record of needed files,
// because for each new file one is removed. A copy would need them again.
constexpr std::uint64_t kBytesOfFrame = kFirstRecordOffset + 2 * kShortRecordBytes;
constexpr Duration kPauseAfterFailure = Duration::seconds(1);
constexpr Duration kPauseOnAFullDisk = Duration::milliseconds(50);

}  // namespace

std::uint64_t Compaction::garbage_of_oldest() const {
  const Segment& oldest = segments().oldest();
  const std::uint64_t needed = oldest.live_bytes + kBytesOfFrame;
  return oldest.bytes - std::min(oldest.bytes, needed);
}

std::uint64_t Compaction::garbage_of_newest() const {
  const std::uint64_t written =
      stream_.writer().written().bytes + stream_.writer().collected_bytes();
  const std::uint64_t needed = kBytesOfFrame + segments().newest().live_bytes;
  return written - std::min(written, needed);
}

// If nearly all jobs live, copying would never end. If a change would be refused otherwise, less
// garbage is worth a copy: the missing room may be in heads and ends of files.
std::uint64_t Compaction::garbage_worth_collecting() const {
  const std::uint64_t worth = room_.needs().garbage_worth_collecting();
  return has_to_make_room_ ? worth / kShareForAChange : worth;
}

bool Compaction::has_garbage_to_collect() const {
  if (stream_.is_refusing() || segments().size() < 2) return false;
  if (segments().oldest().live_jobs == 0) return true;
  if (segments().oldest().number <= segments().gone_until()) return true;
  // Moved jobs have used room, and only the removal of the file returns it.
  if (room_.is_short() && segments().oldest().moved_until != 0) return true;
  const std::uint64_t sealed = segments().older_bytes();
  const std::uint64_t sealed_live = segments().live_bytes() - segments().newest().live_bytes;
  const std::uint64_t frames = (segments().size() - 1) * kBytesOfFrame;
  std::uint64_t garbage = sealed - std::min(sealed, sealed_live + frames);
  // Copied jobs fill the newest file, and then its garbage can be collected.
  if (room_.is_short()) garbage += garbage_of_newest();
  if (room_.is_short() && garbage_of_oldest() >= segments().oldest().bytes / 8) return true;
  if (garbage < std::min(sealed_live / 8, garbage_worth_collecting())) return false;
  if (room_.is_short()) return true;
  return room_.folder_bytes() > room_.needs().folder_bytes_allowed();
}

Budget Compaction::budget_of_turn() const {
  const std::uint64_t steps =
      turn_limits::kStepsOfCompaction +
      turn_limits::kStepsMovedPerStep * (stream_.records().steps_this_turn() - moved_this_turn_);
  return state_.budget(steps - std::min(steps, moved_this_turn_));
}

void Compaction::advance(const Budget& budget) {
  if (budget.is_used_up()) return;  // It has run in this turn already, and its findings still hold.
  waits_ = wants_sync_ = has_moved_ = false;
  bodies_.begin_compaction();
  if (state_.now < again_) return;
  try {
    while (!budget.is_used_up() && has_garbage_to_collect()) {
      const bool is_empty = segments().oldest().live_jobs == 0;
      const std::uint64_t before = stream_.records().steps_this_turn();
      const Result result = is_empty ? remove_oldest() : move_one();
      const std::uint64_t moved = stream_.records().steps_this_turn() - before;
      moved_this_turn_ += moved;
      state_.steps += moved;
      if (result == Result::did_some) continue;
      waits_ = result == Result::has_to_wait;
      return;
    }
  } catch (const std::bad_alloc&) {
    again_ = state_.now + kPauseAfterFailure;
  }
}

// Files are removed one at a time, and if syncs take long, more files may be begun meanwhile,
// without limit. So when the folder is far too large, no command begins a file while the disk has
// work: its session waits, and no other does. When the disk is idle there is nothing to wait for,
// so a file that cannot be removed stops no command.
bool Compaction::is_too_far_ahead(const Budget& budget) {
  const bool is_far =
      room_.folder_bytes() > kTimesAllowedMax * room_.needs().folder_bytes_allowed() &&
      has_garbage_to_collect();
  if (is_far && has_moved_ && stream_.sync_line().length() == 0) {
    // The work that has just ended may let compaction continue.
    advance(budget);
    stream_.records().flush();
    stream_.syncs().request(true);
    stream_.syncs().take_ends();
  }
  return is_far && stream_.sync_line().length() > 0;
}

// On a full disk, changes use the room that compaction returns, and that takes syncs: first of the
// moved records, then of the folder. Faster workers wait for these syncs. Otherwise they would be
// refused although the disk has garbage. Returns false if no room will come of it.
bool Compaction::collect_for_space(const Budget& budget) {
  has_to_make_room_ = true;
  if (stream_.is_refusing() || !has_garbage_to_collect()) {
    has_to_make_room_ = false;
    return false;
  }
  if (!waits_ && !has_collected_for_space_) {
    has_collected_for_space_ = true;  // Once in a turn, for any number of workers.
    again_ = state_.now;              // It may have failed for lack of space that is there now.
    advance(budget);
  }
  if (stream_.is_refusing()) return false;
  return waits_ || (again_ <= state_.now && has_garbage_to_collect());
}

Instant Compaction::next_event() const {
  return !waits_ && has_garbage_to_collect() ? again_ : Instant::never();
}

Compaction::Result Compaction::move_one() {
  Segment& oldest = segments().oldest();
  CHECK(segments().size() > 1 && oldest.first != JobRef::none);
  if (is_tombstone(state_.engine->jobs(), oldest.first)) return move_tombstone(oldest.first);
  const JournaledJob job = state_.engine->journaled(oldest.first);
  const JobStore& jobs = state_.engine->jobs();
  if (const BlobRef body = bodies_.body_of(job)) return move_large(job, body);
  const JournalStatus room =
      room_.make_room(full_record_bytes(job, jobs), room_.needs().for_ends_of_jobs());
  if (room == JournalStatus::later) return Result::has_to_wait;
  if (room != JournalStatus::ok ||
      !stream_.records().prepare_with_note(lead_bytes(job, jobs), job.job.body_bytes,
                                           note_record_bytes(jobs, job.ref))) {
    again_ = state_.now + (room_.is_short() ? kPauseOnAFullDisk : kPauseAfterFailure);
    return Result::nothing_to_do;
  }
  stream_.jobs().append_full(job);
  stream_.jobs().append_note(job);
  oldest.moved_until = stream_.progress().records();
  ++records_migrated_;
  return Result::did_some;
}

// Writes no deletion of the job: no file before the oldest one can have the job.
Compaction::Result Compaction::move_tombstone(JobRef tombstone_ref) {
  Segment& oldest = segments().oldest();
  const JournalStatus status = write_tombstone(state_.engine->tombstone(tombstone_ref));
  if (status == JournalStatus::later) return Result::has_to_wait;
  if (status != JournalStatus::ok) {
    again_ = state_.now + (room_.is_short() ? kPauseOnAFullDisk : kPauseAfterFailure);
    return Result::nothing_to_do;
  }
  oldest.moved_until = stream_.progress().records();
  ++records_migrated_;
  return Result::did_some;
}

JournalStatus Compaction::write_tombstone(const Tombstone& tombstone) {
  const std::uint64_t bytes = tombstone_record_bytes(tombstone);
  const JournalStatus room = room_.make_room(bytes, room_.needs().for_ends_of_jobs());
  if (room != JournalStatus::ok) return room;
  if (!stream_.records().prepare(bytes, 0)) return JournalStatus::full;
  stream_.jobs().append_tombstone_alone(tombstone);
  return JournalStatus::ok;
}

// A body takes many turns, and may wait for another one.
Compaction::Result Compaction::move_large(const JournaledJob& job, const BlobRef& body) {
  Segment& oldest = segments().oldest();
  const std::size_t lead = lead_bytes(job, state_.engine->jobs());
  const bool is_begun = bodies_.is_for(body, lead);
  if (!is_begun && state_.now < begin_again_) return pause_on();
  const JournalStatus status = bodies_.write_ahead(LargeBodies::User::compaction, body, lead,
                                                   room_.needs().for_ends_of_jobs());
  if (status == JournalStatus::later) return Result::has_to_wait;
  if (status != JournalStatus::ok && is_begun) return pause_after_waiting();
  const std::size_t note_bytes = note_record_bytes(state_.engine->jobs(), job.ref);
  // The file that ends must not write, because that releases memory.
  if (status == JournalStatus::ok && note_bytes > 0) stream_.records().flush();
  if (status != JournalStatus::ok || stream_.is_refusing() ||
      !stream_.records().prepare_with_note(0, 0, note_bytes)) {
    again_ = state_.now + kPauseAfterFailure;
    return Result::nothing_to_do;
  }
  bodies_.append(job);
  if (stream_.is_open()) stream_.jobs().append_note(job);
  oldest.moved_until = stream_.progress().records();
  ++records_migrated_;
  return Result::did_some;
}

JournalStatus Compaction::mark_id(JobId id) {
  const Record marker = marker_of(id);
  const std::uint64_t bytes = full_record_bytes(marker.tube_name.size(), 0) + kShortRecordBytes;
  const JournalStatus room = room_.make_room(bytes, room_.needs().for_ends_of_jobs());
  if (room != JournalStatus::ok) return room;
  if (!stream_.records().prepare(marker.tube_name.size(), 0)) return JournalStatus::full;
  stream_.records().append(marker);
  if (stream_.is_refusing() || !stream_.records().prepare(0, 0)) return JournalStatus::failed;
  stream_.jobs().append_deletion(id, nullptr);
  segments().remember_id(id, stream_.progress().records());
  return stream_.is_refusing() ? JournalStatus::failed : JournalStatus::ok;
}

// Returns a file after that index with a full record of this id or a higher one. If there are
// several, returns the one whose record is oldest: in a busy server the newest file always has one,
// and it is never durable. Null: there is none.
const Segment* Compaction::file_naming(JobId id, std::size_t after) const {
  const Segment* best = nullptr;
  for (std::size_t i = after + 1; i < segments().size(); ++i) {
    const Segment& segment = segments().at(i);
    if (segment.highest_id < id) continue;
    if (best == nullptr || segment.highest_record < best->highest_record) best = &segment;
  }
  return best;
}

// Returns true if all content of that file is durable elsewhere: its jobs, their deletions, and an
// id at least as high as its highest one.
bool Compaction::is_replaced(std::size_t index) {
  Segment& segment = segments().at(index);
  if (segment.live_jobs > 0 || index + 1 == segments().size()) return false;
  if (segment.emptied_at == 0) segment.emptied_at = stream_.progress().records();
  if (!is_durable(segment.emptied_at)) return false;
  const Segment* other = file_naming(segment.highest_id, index);
  return other != nullptr && is_durable(other->highest_record);
}

// Records that the oldest files are not needed, so that no start misses them. The records that
// replace theirs are durable before: a crash may keep any written page and lose the others. Each
// file keeps room for one such record. On a full disk, where workers wait for the space, the note
// of the folder states it instead (see set_removal()), unless another server may write the note.
// Unless ok, try again later.
JournalStatus Compaction::write_oldest_needed() {
  std::size_t files = 0;
  bool is_recorded = true;
  while (is_replaced(files)) is_recorded = segments().at(files++).unneeded_from != 0 && is_recorded;
  if (is_recorded) return JournalStatus::ok;
  DiskSpace space;
  // A shortage of memory also counts as a shortage of space, so the free space is checked.
  if (!state_.is_fenced() && room_.is_short() && state_.disk.space(space) &&
      space.free_bytes < room_.needs().file_bytes()) {
    return JournalStatus::ok;
  }
  const bool is_kept = stream_.writer().has_room_kept();
  if (!is_kept) {
    const JournalStatus room = room_.make_room(kShortRecordBytes, room_.needs().for_ends_of_jobs());
    if (room != JournalStatus::ok) return room;
  }
  if (!stream_.records().prepare(0, 0) || stream_.is_refusing()) return JournalStatus::failed;
  const Record needed = needed_from(segments().at(files).number);
  if (is_kept) {
    stream_.records().append_to_room_kept(needed);
  } else {
    stream_.records().append(needed);
  }
  for (std::size_t i = 0; i < files; ++i) {
    Segment& segment = segments().at(i);
    if (segment.unneeded_from == 0) segment.unneeded_from = stream_.progress().records();
  }
  return JournalStatus::ok;
}

// Returns true if the first `record` records are as durable as the policy makes them.
bool Compaction::is_durable(std::uint64_t record) {
  if (state_.has_syncs()) return !stream_.is_refusing() && record <= stream_.progress().synced();
  stream_.records().flush();  // Without syncs, no end of a sync would continue this work.
  return !stream_.is_refusing() && record <= stream_.progress().written();
}

Compaction::Result Compaction::not_now(JournalStatus status) {
  if (status == JournalStatus::later) return Result::has_to_wait;
  again_ = state_.now + kPauseAfterFailure;
  return Result::nothing_to_do;
}

// Begins to remove the oldest file in the background, because removing a large file takes the
// kernel long. removal_ended() gets the result.
Compaction::Result Compaction::remove_oldest() {
  if (state_.now < begin_again_) return pause_on();
  if (stream_.sync_line().has_removal()) {
    // Meanwhile the next files are recorded as not needed: record and removal both take syncs.
    (void)write_oldest_needed();
    return Result::has_to_wait;
  }
  Segment& oldest = segments().oldest();
  // The highest id of this file must not be lost with it.
  if (file_naming(oldest.highest_id, 0) == nullptr) {
    const JournalStatus marked = mark_id(oldest.highest_id);
    if (marked != JournalStatus::ok) return not_now(marked);
  }
  const auto not_yet = [this] {
    return stream_.is_refusing() ? Result::nothing_to_do : Result::has_to_wait;
  };
  if (!is_replaced(0)) return not_yet();
  const JournalStatus written = write_oldest_needed();
  if (written != JournalStatus::ok) return not_now(written);
  wants_sync_ = !is_durable(oldest.unneeded_from);
  if (wants_sync_) return not_yet();
  const bool by_sync = state_.has_syncs();
  // One removal at a time. If two names were being removed, a crash might bring back the older one
  // alone: a job without its deletion, which was in the other file.
  if (by_sync && !stream_.sync_line().has_passed(removal_mark_)) return Result::has_to_wait;
  if (stream_.sync_line().length() >= SyncLine::kLengthMax) return Result::has_to_wait;
  if (oldest.unneeded_from == 0) stream_.note().set_removal(segments().at(1).number);
  if (oldest.is_gone || oldest.has_to_be_kept) return drop_oldest_at_once();
  stream_.sync_line().remove_first(binlog_file_name(oldest.number), by_sync);
  return Result::has_to_wait;
}

// Drops the oldest file if it is gone, or is to be renamed instead of removed.
Compaction::Result Compaction::drop_oldest_at_once() {
  state_.steps += turn_limits::kStepsPerFile;
  const Segment& oldest = segments().oldest();
  const bool is_out = oldest.is_gone || remove_or_keep(state_.disk, oldest.number,
                                                       oldest.has_to_be_kept) == DiskStatus::ok;
  if (!is_out) {
    const Result result = pause_after_waiting();
    report_removal_failed(state_.disk.last_error());
    return result;
  }
  drop_oldest();
  if (state_.has_syncs()) removal_mark_ = stream_.sync_line().sync_folder_first();
  return Result::did_some;
}

void Compaction::removal_ended(DiskStatus status) {
  if (status != DiskStatus::ok) {
    try {
      const std::string why = state_.disk.last_error();
      // A file that something else removed must not block compaction for ever.
      const std::string name = binlog_file_name(segments().oldest().number);
      std::vector<std::string> names;
      const bool is_gone = state_.disk.list(names) == DiskStatus::ok &&
                           std::find(names.begin(), names.end(), name) == names.end();
      if (is_gone) status = DiskStatus::ok;
      if (is_gone && state_.has_syncs()) removal_mark_ = stream_.sync_line().sync_folder_first();
      if (!is_gone) report_removal_failed(why);
    } catch (const std::bad_alloc&) {
      // The removal is tried again.
    }
  }
  if (status == DiskStatus::ok) {
    drop_oldest();
  } else {
    (void)pause_after_waiting();
  }
}

void Compaction::drop_oldest() {
  segments().remove_oldest();
  has_to_make_room_ = false;  // A change that still lacks room sets it again.
  room_.ask_again();          // There is space again.
}

// Meanwhile, changes that lack the space are refused. If each of them caused another attempt, all
// of them would wait for one attempt after the other.
Compaction::Result Compaction::pause_after_waiting() {
  again_ = begin_again_ = state_.now + kPauseAfterFailure;
  return Result::nothing_to_do;
}

Compaction::Result Compaction::pause_on() {
  again_ = begin_again_;
  return Result::nothing_to_do;
}

void Compaction::report_removal_failed(const std::string& why) {
  state_.notices.count_error();
  state_.check_files_at = state_.now;
  state_.notices.report_at_times(
      Notices::Subject::file, {.kind = Notice::Kind::file_failed, .doing = "remove", .error = why},
      state_.now);
}

}  // namespace haricot::binlog
