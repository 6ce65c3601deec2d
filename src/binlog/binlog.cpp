#include "haricot/binlog/binlog.hpp"

#include <algorithm>

#include "haricot/base/check.hpp"
#include "haricot/binlog/format/job_record.hpp"

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
      changes_(state_, stream_, room_, bodies_, compaction_),
      restored_(state_, stream_, compaction_, changes_),
      run_({.state = state_,
            .stream = stream_,
            .room = room_,
            .bodies = bodies_,
            .watch = watch_,
            .recovery = recovery_,
            .restored = restored_}) {}

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
                if (taken.line_is_shorter) self.changes_.disk_moved();
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

// Turns -------------------------------------------------------------------------------------------

void Binlog::end_turn(Instant now) {
  state_.now = std::max(state_.now, now);
  if (!state_.is_in_use()) return;
  watch_.check();  // Before any record counts as safe.
  stream_.syncs().take_ends();
  stream_.records().flush();
  bodies_.advance();
  if (stream_.is_refusing()) {
    recovery_.advance(state_.budget(turn_limits::kStepsOfRecovery));
  } else {
    compaction_.advance(compaction_.budget_of_turn());
    watch_.end_moving();
    stream_.records().flush();
    if (!stream_.is_refusing()) room_.find_missing_room();
    if (!stream_.is_refusing()) room_.tend(state_.budget(turn_limits::kStepsOfSpares));
  }
  stream_.syncs().request(is_waited_for());
  // A sync may have ended meanwhile. Requests that need another sync wait for the next turn, which
  // its end begins.
  stream_.syncs().take_ends();
  stream_.syncs().request(is_waited_for());
  bodies_.end_turn(changes_.is_waited_for());
  stream_.records().end_turn();
  if (!stream_.is_refusing()) stream_.files().cut_back();
  compaction_.end_turn();
}

Instant Binlog::next_event() const {
  if (!state_.is_in_use()) return Instant::never();
  if (changes_.is_time_to_try_again() || bodies_.has_work()) return Instant{};
  if (stream_.is_refusing()) return recovery_.next_event();
  if (room_.is_left_to_tend()) return Instant{};
  return std::min({stream_.syncs().next(), compaction_.next_event(), room_.next_event()});
}

// Numbers -----------------------------------------------------------------------------------------

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
      .refused_puts = changes_.refused_puts(),
      .unsynced_since = stream_.state().oldest_unsynced()};
}

std::uint64_t Binlog::file_of(JobRef job) const {
  const Segment* segment = state_.segments->of(job);
  return segment == nullptr ? 0 : segment->number;
}

void Binlog::check_invariants() const {
  if (state_.engine == nullptr) return;
  stream_.progress().check_invariants();
  state_.promises.check_invariants(*state_.engine);
  // During recovery, jobs may live in no file until they are written again.
  if (stream_.is_refusing()) return;
  state_.segments->check_invariants();
  CHECK(stream_.is_open() || state_.is_closed);
  if (!state_.is_closed) CHECK(stream_.writer().number() == state_.segments->newest().number);
}

}  // namespace haricot::binlog
