#include "haricot/binlog/binlog.hpp"

#include <algorithm>

#include "haricot/base/check.hpp"
#include "haricot/binlog/format/job_record.hpp"

// What commands are told, and who goes on in a turn. Opening and closing are in binlog_opening.cpp.

namespace haricot::binlog {
namespace {

constexpr std::uint64_t kFileBytesUnit = 4096;
constexpr std::size_t kOpenFilesMin = 6;
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
    : Journal(true),
      state_(disk, with_whole_units(options)),
      stream_(state_, events()),
      body_(disk, stream_.sync_line(), state_.options.slice_bytes, state_.has_syncs()),
      room_(state_, stream_, body_),
      bodies_(state_, stream_, room_, body_),
      compaction_(state_, stream_, room_, bodies_),
      watch_(state_, stream_),
      recovery_(state_, stream_, room_, bodies_, watch_),
      opening_(state_) {}

StreamEvents Binlog::events() {
  return {.object = this,
          .failed =
              [](void* object, const StreamEvents::Failure& failure) {
                auto& self = *static_cast<Binlog*>(object);
                self.bodies_.drop();
                self.compaction_.failed();
                self.recovery_.failed(failure);
              },
          .removal_ended =
              [](void* object, DiskStatus status) {
                static_cast<Binlog*>(object)->compaction_.removal_ended(status);
              },
          .syncs_taken =
              [](void* object, const StreamEvents::SyncsTaken& taken) {
                auto& self = *static_cast<Binlog*>(object);
                if (taken.some_ended) self.compaction_.sync_ended();
                if (taken.line_is_shorter) self.disk_moved_ = true;
                self.recovery_.syncs_taken();
              }};
}

void Binlog::set_wall_offset(Duration offset) {
  const Duration before = state_.wall_offset;
  const Duration change = Instant::at(offset.count()) - Instant::at(before.count());
  if (change > kWallClockNoise || Duration::nanoseconds(-change.count()) > kWallClockNoise) {
    state_.wall_offset = offset;
  }
}

std::optional<Notice> Binlog::next_notice() {
  return state_.notices.take();
}

// Commands ----------------------------------------------------------------------------------------

bool Binlog::may_try_again() {
  if (!is_time_to_try_again()) return false;
  answered_later_ = answered_busy_ = false;
  bodies_.set_wanted_by_put(false);
  return true;
}

JournalStatus Binlog::answer_later() {
  if (!answered_later_) disk_moved_ = false;
  answered_later_ = true;
  return JournalStatus::later;
}

JournalStatus Binlog::answer_busy() {
  answered_busy_ = true;
  return JournalStatus::later;
}

// What compaction needs is not kept waiting by the size of the folder, which it is to reduce.
JournalStatus Binlog::make_room(std::uint64_t record_bytes, std::uint64_t keep) {
  if (stream_.writer().room() < record_bytes) {
    stream_.syncs().take_ends();
    if (stream_.is_refusing()) return stream_.refusal().status();
    if (compaction_.is_too_far_ahead(budget_of_compaction())) return answer_later();
  }
  const JournalStatus status = room_.make_room(record_bytes, keep);
  return status == JournalStatus::later ? answer_later() : status;
}

JournalStatus Binlog::take_room_for_put(const PutRoom& put, const BlobRef& body) {
  promise_ = put.may_be_buried ? Promise::burial : Promise::nothing;
  const std::size_t lead = lead_bytes(put.tube_name_bytes, put.tag_bytes);
  const JournalStatus status = room_for_put(lead, put, body);
  const bool is_refused = status != JournalStatus::ok && status != JournalStatus::later;
  if (is_refused) ++refused_puts_;
  return status;
}

JournalStatus Binlog::room_for_put(std::size_t lead_bytes, const PutRoom& put,
                                   const BlobRef& body) {
  if (!can_record()) return stream_.refusal().status();
  if (body && bodies_.has_written_much()) return answer_busy();
  const std::uint64_t bytes = full_record_bytes(lead_bytes, put.body_bytes);
  const std::uint64_t share =
      Promises::bytes_for(put) + std::min(bytes, room_.needs().file_bytes());
  const std::uint64_t keep = room_.needs().for_puts() + share;
  const bool is_large = bodies_.is_large(body);
  const JournalStatus status =
      is_large ? room_for_large_put(body, lead_bytes, keep) : make_room(bytes, keep);
  if (status == JournalStatus::full) {
    // A job larger than a file counts as one of a file's size: to keep so much more room for it
    // would take space from others.
    room_.count_refused_put(share + std::min(bytes, room_.needs().file_bytes()), bytes);
  }
  if (status != JournalStatus::ok) return status;
  // What is large is not collected.
  const bool good = is_large ? stream_.records().prepare(0, 0)
                             : stream_.records().prepare(lead_bytes, put.body_bytes);
  return good ? JournalStatus::ok : JournalStatus::full;
}

JournalStatus Binlog::room_for_large_put(const BlobRef& body, std::size_t lead_bytes,
                                         std::uint64_t keep) {
  if (!bodies_.is_for(body, lead_bytes)) {
    stream_.syncs().take_ends();
    if (stream_.is_refusing()) return stream_.refusal().status();
    if (compaction_.is_too_far_ahead(budget_of_compaction())) return answer_later();
  }
  const JournalStatus status = bodies_.write_ahead(LargeBodies::User::put, body, lead_bytes, keep);
  if (status != JournalStatus::later) return status;
  if (!bodies_.is_for(body, lead_bytes) && !bodies_.is_none()) {
    bodies_.set_wanted_by_put(true);
    return answer_busy();
  }
  // Where nobody is in the way, it lacks something that the disk has to bring.
  return bodies_.is_busy() ? answer_busy() : answer_later();
}

JournalStatus Binlog::take_room_for_update(Promise promise) {
  promise_ = promise;
  if (!can_record()) return stream_.refusal().status();
  const std::uint64_t promised = promise == Promise::burial ? kShortRecordBytes : 0;
  const std::uint64_t keep =
      room_.needs().for_ends_of_jobs() + room_.needs().to_continue_compaction() + promised;
  JournalStatus status = make_room(kShortRecordBytes, keep);
  if (status == JournalStatus::full && compaction_.collect_for_space(budget_of_compaction()))
    status = answer_later();
  if (status != JournalStatus::ok) return status;
  return stream_.records().prepare(0, 0) ? JournalStatus::ok : JournalStatus::full;
}

JournalStatus Binlog::take_promised_room(const Promised& promised) {
  promise_ = Promise::nothing;
  const JournalStatus status = room_for_promised(promised);
  // Compaction or a recovery may write the job before the record comes.
  if (status != JournalStatus::ok && promised.burial != nullptr && is_in_use()) {
    stream_.jobs().stamp_burial(*promised.burial);
  }
  return status;
}

JournalStatus Binlog::room_for_promised(const Promised& promised) {
  if (!can_record()) return JournalStatus::failed;
  const auto records = std::max(promised.deletions, 1U) +
                       static_cast<std::uint32_t>(tombstone_records(promised.tombstones));
  if (promised.deletions > 1) return room_for_several(records);
  const JournalStatus status = make_room(std::uint64_t{records} * kShortRecordBytes, 0);
  if (status == JournalStatus::later) return status;
  return status == JournalStatus::ok && stream_.records().prepare_short(records)
             ? JournalStatus::ok
             : JournalStatus::failed;
}

// Where the file that is being written has not enough room left, that is given up for the next one;
// the room for all other deletions has to be there besides. One alone has the room of each
// deletion.
JournalStatus Binlog::room_for_several(std::uint32_t records) {
  const std::uint64_t bytes = std::uint64_t{records} * kShortRecordBytes;
  // No write may come, and fail, between the first of them and the last.
  if (stream_.writer().collected_bytes() + bytes >= RecordCollector::kCollectedBytesMax)
    stream_.records().flush();
  if (!can_record()) return JournalStatus::failed;
  const std::uint64_t keep = stream_.writer().room() < bytes ? room_.needs().for_ends_of_jobs() : 0;
  const JournalStatus status = make_room(bytes, keep);
  if (status != JournalStatus::ok) return status;
  if (!stream_.records().prepare_short(records)) return JournalStatus::full;
  stream_.records().write_together(bytes);
  return JournalStatus::ok;
}

void Binlog::record(JobChange change, const JournaledJob& job) {
  const bool is_buried = job.job.state() == JobState::buried;
  const Promise promise = is_buried ? Promise::nothing : promise_;
  JobStore& jobs = state_.engine->jobs();
  switch (change) {
    case JobChange::put:
      state_.promises.make(job, jobs, promise);
      record_put(job);
      break;
    case JobChange::update:
      if (promise == Promise::burial) state_.promises.make_burial(jobs.journal_fields(job.ref));
      if (is_buried) state_.promises.end_burial(jobs.journal_fields(job.ref));
      if (!jobs.is_held(job.ref)) state_.promises.end_hold_end(jobs.journal_fields(job.ref));
      stream_.jobs().append_change(job);
      break;
    case JobChange::in_place:
      stream_.jobs().append_change_in_place(job);
      break;
  }
}

void Binlog::record_put(const JournaledJob& job) {
  if (bodies_.is_for(bodies_.body_of(job), lead_bytes(job, state_.engine->jobs()))) {
    bodies_.append(job);
  } else {
    stream_.jobs().append_full(job);
  }
}

void Binlog::record_deletion(const JournaledJob& job, const Tombstone* left) {
  JobStore& jobs = state_.engine->jobs();
  state_.segments->detach(job.ref, full_record_bytes(job, jobs));
  state_.promises.end(job, jobs);
  stream_.jobs().append_deletion(job.job.id, left);
}

void Binlog::forget_tombstone(JobRef tombstone_ref) {
  if (is_in_use())
    state_.segments->detach(tombstone_ref, live_bytes_of(*state_.engine, tombstone_ref));
}

// Turns -------------------------------------------------------------------------------------------

Budget Binlog::budget_of_compaction() const {
  const std::uint64_t moved = compaction_.moved_this_turn();
  const std::uint64_t steps =
      turn_limits::kStepsOfCompaction +
      turn_limits::kStepsMovedPerStep * (stream_.records().steps_this_turn() - moved);
  return budget(steps - std::min(steps, moved));
}

void Binlog::end_turn(Instant now) {
  state_.now = std::max(state_.now, now);
  if (!is_in_use()) return;
  watch_.look();  // Before anything counts as safe.
  stream_.syncs().take_ends();
  stream_.records().flush();
  bodies_.go_on();
  if (stream_.is_refusing()) {
    recovery_.go_on(budget(turn_limits::kStepsOfRecovery));
  } else {
    compaction_.go_on(budget_of_compaction());
    watch_.end_moving();
    stream_.records().flush();
    if (!stream_.is_refusing()) room_.look_for_space();
    if (!stream_.is_refusing()) room_.tend(budget(turn_limits::kStepsOfSpares));
  }
  stream_.syncs().request(is_waited_for());
  // One may have ended meanwhile. What is asked for after it is left for the next turn, which its
  // end begins.
  stream_.syncs().take_ends();
  stream_.syncs().request(is_waited_for());
  bodies_.end_turn(answered_later_);
  stream_.records().end_turn();
  if (!stream_.is_refusing()) stream_.files().cut_back();
  compaction_.end_turn();
}

Instant Binlog::next_event() const {
  if (!is_in_use()) return Instant::never();
  if (is_time_to_try_again() || bodies_.has_work()) return Instant{};
  if (stream_.is_refusing()) return recovery_.next_event();
  if (room_.is_left_to_tend()) return Instant{};
  return std::min({stream_.syncs().next(), compaction_.next_event(), room_.next_event()});
}

// Looking in --------------------------------------------------------------------------------------

JournalNumbers Binlog::numbers() const {
  if (state_.engine == nullptr) return {};
  const Segments& segments = *state_.segments;
  const bool empty = segments.empty();
  return JournalNumbers{
      .is_kept = true,
      .oldest_index = empty ? 0 : segments.oldest().number,
      .current_index = empty ? 0 : segments.newest().number,
      .records_migrated = compaction_.records_migrated(),
      .records_written = stream_.records().total(),
      .errors = state_.notices.errors(),
      .refusing = stream_.is_refusing(),
      .no_space = room_.is_missing() || (stream_.is_refusing() && stream_.refusal().is_for_space()),
      .refused_puts = refused_puts_,
      .unsynced_since = stream_.state().oldest_unsynced()};
}

std::uint64_t Binlog::file_of(JobRef job) const {
  const Segment* segment = state_.segments->of(job);
  return segment == nullptr ? 0 : segment->name_number;
}

void Binlog::check_invariants() const {
  if (state_.engine == nullptr) return;
  stream_.progress().check_invariants();
  state_.promises.check_invariants(*state_.engine);
  // While it recovers, jobs may live in no file: they are on the list of what is to be written.
  if (stream_.is_refusing()) return;
  state_.segments->check_invariants();
  CHECK(stream_.is_open() || is_closed_);
  if (!is_closed_) CHECK(stream_.writer().number() == state_.segments->newest().number);
}

}  // namespace haricot::binlog
