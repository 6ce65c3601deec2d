#include "haricot/binlog/format/job_record.hpp"

#include <algorithm>
#include <limits>

namespace haricot::binlog {
namespace {

constexpr std::int64_t kPerSecond = 1'000'000'000;
// Difference between the deadline of a held job and its delay. Another server that reads the folder
// may write the job again, and shifts the deadline a little.
constexpr std::uint32_t kSecondsPerYear = 365 * 24 * 60 * 60;
constexpr Duration kHeldFor = Duration::seconds(100 * kSecondsPerYear);
constexpr Duration kHeldForMin = Duration::seconds(90 * kSecondsPerYear);
// The deadline of a ready job is 0.
constexpr std::int64_t kMarkerDeadline = std::numeric_limits<std::int64_t>::min();

std::int64_t to_wall(Instant instant, Duration wall_offset) {
  return (instant + wall_offset).count();
}

Instant from_wall(std::int64_t wall, Duration wall_offset) {
  return Instant::at((Instant::at(wall) - Instant::at(wall_offset.count())).count());
}

// Rounds up: no delay or TTR becomes shorter than it was.
std::uint32_t to_seconds(std::int64_t nanoseconds) {
  if (nanoseconds <= 0) return 0;
  const std::int64_t seconds = nanoseconds / kPerSecond + (nanoseconds % kPerSecond == 0 ? 0 : 1);
  return static_cast<std::uint32_t>(
      std::min<std::int64_t>(seconds, std::numeric_limits<std::uint32_t>::max()));
}

RecordState state_in_record(JobState state) {
  switch (state) {
    case JobState::delayed:
      return RecordState::delayed;
    case JobState::buried:
      return RecordState::buried;
    case JobState::ready:
    case JobState::reserved:
      break;
  }
  return RecordState::ready;
}

JobState state_of(RecordState state) {
  switch (state) {
    case RecordState::delayed:
      return JobState::delayed;
    case RecordState::buried:
      return JobState::buried;
    case RecordState::deleted:
    case RecordState::ready:
    case RecordState::reserved:
      break;
  }
  return JobState::ready;
}

}  // namespace

std::uint64_t live_bytes_of(const Engine& engine, JobRef ref) {
  const JobStore& jobs = engine.jobs();
  return is_tombstone(jobs, ref) ? tombstone_record_bytes(engine.tombstone(ref))
                                 : full_record_bytes(engine.journaled(ref), jobs);
}

std::string_view text_of_tombstone(const Tombstone& tombstone, Duration wall_offset,
                                   TombstoneTextBytes& to) {
  return write_tombstone({.end_at = to_wall(tombstone.end, wall_offset),
                          .seconds = tombstone.seconds,
                          .key = tombstone.key,
                          .tube_name = tombstone.tube_name},
                         to);
}

std::optional<Tombstone> tombstone_from(std::string_view text, Duration wall_offset, Instant now) {
  const std::optional<TombstoneText> read = read_tombstone(text);
  if (!read) return std::nullopt;
  return Tombstone{.ref = JobRef::none,
                   .id = 0,
                   .tube_name = read->tube_name,
                   .key = read->key,
                   .seconds = read->seconds,
                   .end = restored_deadline(read->end_at, read->seconds, wall_offset, now)};
}

Record change_of(const JournaledJob& journaled, const JobStore& jobs, Duration wall_offset,
                 std::int64_t stamp) {
  const Job& job = journaled.job;
  Record record;
  record.id = job.id;
  record.priority = job.priority;
  record.delay_ns = job.delay_s * kPerSecond;
  record.ttr_ns = job.ttr_s * kPerSecond;
  record.body_bytes = job.body_bytes + 2;
  record.created_at = to_wall(job.created, wall_offset);
  record.state = state_in_record(job.state());
  if (record.state == RecordState::delayed) {
    const Instant deadline = jobs.is_held(journaled.ref)
                                 ? job.created + Duration::seconds(job.delay_s) + kHeldFor
                                 : journaled.deadline;
    record.deadline_at = to_wall(deadline, wall_offset);
  } else if (record.state == RecordState::buried) {
    record.deadline_at = stamp;
  }
  for (std::size_t i = 0; i < kJobEvents; ++i) {
    const std::uint64_t count = jobs.counted(journaled.ref, static_cast<JobEvent>(i));
    record.counts[i] = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(count, std::numeric_limits<std::uint32_t>::max()));
  }
  return record;
}

Record deletion_of(JobId id) {
  Record record;
  record.id = id;
  record.state = RecordState::deleted;
  return record;
}

Record marker_of(JobId id) {
  Record record;
  record.tube_name = "default";
  record.id = id;
  record.ttr_ns = kPerSecond;
  record.body_bytes = 2;
  record.deadline_at = kMarkerDeadline;
  return record;
}

bool is_marker(const Record& record) {
  return record.is_full() && record.state == RecordState::ready &&
         record.deadline_at == kMarkerDeadline;
}

RestoredJob restored_from(const Record& record, Duration wall_offset) {
  return RestoredJob{.id = record.id,
                     .created = from_wall(record.created_at, wall_offset),
                     .priority = record.priority,
                     .delay_s = to_seconds(record.delay_ns),
                     .ttr_s = to_seconds(record.ttr_ns),
                     .state = state_of(record.state),
                     .counters = record.counts};
}

// A hold that begins after 2162 ends when wall clocks of 64 bits do.
bool is_held_until(const Job& job, std::int64_t deadline_at, Duration wall_offset) {
  if (deadline_at == std::numeric_limits<std::int64_t>::max()) return true;
  const Instant deadline = from_wall(deadline_at, wall_offset);
  return deadline - (job.created + Duration::seconds(job.delay_s)) >= kHeldForMin;
}

Instant restored_deadline(std::int64_t deadline_at, std::uint32_t delay_s, Duration wall_offset,
                          Instant now) {
  return std::min(from_wall(deadline_at, wall_offset), now + Duration::seconds(delay_s));
}

}  // namespace haricot::binlog
