#include "haricot/binlog/write/compaction.hpp"

#include <algorithm>
#include <new>

#include "haricot/base/check.hpp"
#include "haricot/base/turn_limits.hpp"
#include "haricot/binlog/format/file_name.hpp"
#include "haricot/binlog/format/job_record.hpp"
#include "haricot/binlog/write/quarantine.hpp"

namespace haricot::binlog {
namespace {

// Beyond this many times what the folder may have, nobody goes on as if the disk could follow.
constexpr std::uint64_t kTimesAllowedMax = 3;
// Of the garbage that is worth collecting, the part that is so for a change that lacks room.
constexpr std::uint64_t kShareForAChange = 4;
// What a file takes beside the records of jobs: its head, its seal, and one record of which files
// are needed, as a file is removed for each that is begun. To copy it would only make it anew.
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

// Where nearly all lives, copying would go round and round for nothing. It is not for nothing where
// a change would be refused else: the files' frames and ends may have taken what is missing.
std::uint64_t Compaction::garbage_worth_collecting() const {
  const std::uint64_t worth = room_.needs().garbage_worth_collecting();
  return has_to_make_room_ ? worth / kShareForAChange : worth;
}

bool Compaction::has_garbage_to_collect() const {
  if (stream_.is_refusing() || segments().size() < 2) return false;
  if (segments().oldest().live_jobs == 0) return true;
  if (segments().oldest().number <= segments().gone_until()) return true;
  // What has been moved has cost its room, and only the removal of the file gives it back.
  if (room_.is_short() && segments().oldest().moved_until != 0) return true;
  const std::uint64_t sealed = segments().older_bytes();
  const std::uint64_t sealed_live = segments().live_bytes() - segments().newest().live_bytes;
  const std::uint64_t frames = (segments().size() - 1) * kBytesOfFrame;
  std::uint64_t garbage = sealed - std::min(sealed, sealed_live + frames);
  // What is copied after it will make a file of the past of the newest one.
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

void Compaction::go_on(const Budget& budget) {
  if (budget.is_used_up()) return;  // It went on in this turn, and what it found out then holds.
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

// Files go one at a time, and where syncs take long more may be begun meanwhile, without an end. So
// once the folder is far too large, no command begins a file as long as something is under way on
// the disk: its session waits for the disk, and nobody else does. When nothing is under way there
// is nothing to wait for, so a file that cannot be removed stops nobody.
bool Compaction::is_too_far_ahead(const Budget& budget) {
  const bool is_far =
      room_.folder_bytes() > kTimesAllowedMax * room_.needs().folder_bytes_allowed() &&
      has_garbage_to_collect();
  if (is_far && has_moved_ && stream_.sync_line().length() == 0) {
    // What has just ended may let it go on.
    go_on(budget);
    stream_.records().flush();
    stream_.syncs().request(true);
    stream_.syncs().take_ends();
  }
  return is_far && stream_.sync_line().length() > 0;
}

// On a full disk, changes live on what compaction gives back, which comes with syncs: first of the
// records it has moved, then of the folder. Workers that are faster wait for it, as their answers
// would; the alternative is to refuse what a disk with garbage on it could take. False: nothing is
// going to come of it.
bool Compaction::collect_for_space(const Budget& budget) {
  has_to_make_room_ = true;
  if (stream_.is_refusing() || !has_garbage_to_collect()) {
    has_to_make_room_ = false;
    return false;
  }
  if (!waits_ && !has_collected_for_space_) {
    has_collected_for_space_ = true;  // Once a turn, however many workers there are.
    again_ = state_.now;              // It may have failed for want of space that is there by now.
    go_on(budget);
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
  const std::size_t lead = lead_bytes(job, state_.engine->jobs());
  const std::uint64_t bytes = full_record_bytes(lead, job.job.body_bytes);
  if (const BlobRef body = bodies_.body_of(job)) return move_large(job, body);
  const JournalStatus room = room_.make_room(bytes, room_.needs().for_ends_of_jobs());
  if (room == JournalStatus::later) return Result::has_to_wait;
  if (room != JournalStatus::ok || !stream_.records().prepare(lead, job.job.body_bytes)) {
    again_ = state_.now + (room_.is_short() ? kPauseOnAFullDisk : kPauseAfterFailure);
    return Result::nothing_to_do;
  }
  stream_.jobs().append_full(job);
  oldest.moved_until = stream_.progress().records();
  ++records_migrated_;
  return Result::did_some;
}

// The deletion of its job is not needed: the oldest file is the last one that can have the job.
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
  if (status != JournalStatus::ok || !stream_.records().prepare(0, 0)) {
    again_ = state_.now + kPauseAfterFailure;
    return Result::nothing_to_do;
  }
  bodies_.append(job);
  oldest.moved_until = stream_.progress().records();
  ++records_migrated_;
  return Result::did_some;
}

// Writes down an id that nothing else in the folder tells of any more. Requires: no job has it.
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

// The file after that one that tells of this id or a higher one, and has done so for longest: the
// newest one always does in a busy server, and never durably so. Null: none.
const Segment* Compaction::file_naming(JobId id, std::size_t after) const {
  const Segment* best = nullptr;
  for (std::size_t i = after + 1; i < segments().size(); ++i) {
    const Segment& segment = segments().at(i);
    if (segment.highest_id < id) continue;
    if (best == nullptr || segment.highest_record < best->highest_record) best = &segment;
  }
  return best;
}

// Whether all that was in that file is durable elsewhere: its jobs, their ends, and an id that is
// as high as the highest that it tells of.
bool Compaction::is_replaced(std::size_t index) {
  Segment& segment = segments().at(index);
  if (segment.live_jobs > 0 || index + 1 == segments().size()) return false;
  if (segment.emptied_at == 0) segment.emptied_at = stream_.progress().records();
  if (!is_durable(segment.emptied_at)) return false;
  const Segment* other = file_naming(segment.highest_id, index);
  return other != nullptr && is_durable(other->highest_record);
}

// Writes down that the oldest files are not needed, so that nobody misses them. What took the place
// of their records is durable by then: a crash may keep any page of what was written, and lose the
// others. There is room for one such record in each file. On a full disk, where workers wait for
// the space, the note of the folder tells it: see set_removal(); but not if another server may
// write to the note. On anything but ok: not now.
JournalStatus Compaction::write_oldest_needed() {
  std::size_t files = 0;
  bool is_told = true;
  while (is_replaced(files)) is_told = segments().at(files++).unneeded_from != 0 && is_told;
  if (is_told) return JournalStatus::ok;
  DiskSpace space;
  // It is short of space for want of memory, too.
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

// Up to that record, as far as the policy lets anything be durable.
bool Compaction::is_durable(std::uint64_t record) {
  if (state_.has_syncs()) return !stream_.is_refusing() && record <= stream_.progress().synced();
  stream_.records().flush();  // No end of a sync will be there to come back here.
  return !stream_.is_refusing() && record <= stream_.progress().written();
}

Compaction::Result Compaction::not_now(JournalStatus status) {
  if (status == JournalStatus::later) return Result::has_to_wait;
  again_ = state_.now + kPauseAfterFailure;
  return Result::nothing_to_do;
}

// Begins to remove the oldest file: removal_ended() tells how that went. To remove a large file
// takes the kernel long, so it is done where syncs are.
Compaction::Result Compaction::remove_oldest() {
  if (state_.now < begin_again_) return pause_on();
  if (stream_.sync_line().has_removal()) {
    // The next ones are told of while the oldest goes: each of the two takes syncs.
    (void)write_oldest_needed();
    return Result::has_to_wait;
  }
  Segment& oldest = segments().oldest();
  // The highest id that this file tells of must not go with it.
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
  // One removal after the other. If two names were on their way out, a crash might bring back the
  // older one alone: a job, and not its deletion, which stood in the other.
  if (by_sync && !stream_.sync_line().has_passed(removal_mark_)) return Result::has_to_wait;
  if (stream_.sync_line().length() >= SyncLine::kLengthMax) return Result::has_to_wait;
  if (oldest.unneeded_from == 0) stream_.note().set_removal(segments().at(1).number);
  if (oldest.is_gone || oldest.has_to_be_kept) return drop_oldest_at_once();
  stream_.sync_line().remove_first(binlog_file_name(oldest.name_number), by_sync);
  return Result::has_to_wait;
}

// Where nothing is to be removed: it is gone, or is given another name.
Compaction::Result Compaction::drop_oldest_at_once() {
  state_.steps += turn_limits::kStepsPerFile;
  const Segment& oldest = segments().oldest();
  const bool is_out = oldest.is_gone || remove_or_keep(state_.disk, oldest.name_number,
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
      // One that is gone all the same, by whatever hand, must not be in the way for ever.
      const std::string name = binlog_file_name(segments().oldest().name_number);
      std::vector<std::string> names;
      const bool is_gone = state_.disk.list(names) == DiskStatus::ok &&
                           std::find(names.begin(), names.end(), name) == names.end();
      if (is_gone) status = DiskStatus::ok;
      if (is_gone && state_.has_syncs()) removal_mark_ = stream_.sync_line().sync_folder_first();
      if (!is_gone) report_removal_failed(why);
    } catch (const std::bad_alloc&) {
      // It is tried again.
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
  has_to_make_room_ = false;  // Whoever still lacks room says so again.
  room_.ask_again();          // There is space again.
}

// Whoever lacks the space is refused meanwhile. If each of them had it tried again at once, they
// would wait for one try after the other.
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
  state_.look_for_files_at = state_.now;
  state_.notices.report_at_times(
      Notices::Subject::file, {.kind = Notice::Kind::file_failed, .doing = "remove", .error = why},
      state_.now);
}

}  // namespace haricot::binlog
