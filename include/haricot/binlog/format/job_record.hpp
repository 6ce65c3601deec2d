// Conversion between a job and its record, between the units and clocks of both.
//
// The engine counts in seconds on the monotonic clock, a record in nanoseconds on the wall clock.
// `wall_offset` is the wall clock minus the monotonic clock.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "haricot/base/time.hpp"
#include "haricot/binlog/format/record.hpp"
#include "haricot/binlog/format/text_record.hpp"
#include "haricot/queue/engine.hpp"
#include "haricot/queue/journal.hpp"

namespace haricot::binlog {

// Returns the bytes in front of the block of a job's full record: records of its tags, and the name
// of its tube.
inline std::size_t lead_bytes(std::size_t name_bytes, std::size_t tag_bytes) {
  return name_bytes + text_record_bytes(tag_bytes);
}
// `jobs` is the store of the job.
inline std::size_t lead_bytes(const JournaledJob& job, const JobStore& jobs) {
  return lead_bytes(job.tube_name.size(), jobs.tags(job.ref).size());
}

// Returns the bytes of the job's full record, including those in front of it.
inline std::uint64_t full_record_bytes(std::size_t lead_bytes, std::size_t body_bytes) {
  constexpr std::size_t kTrailerBytes = 2;
  return header_bytes(lead_bytes) + body_bytes + kTrailerBytes;
}
inline std::uint64_t full_record_bytes(const JournaledJob& job, const JobStore& jobs) {
  return full_record_bytes(lead_bytes(job, jobs), job.job.body_bytes);
}

// Maximum number of tombstone records (text_record.hpp) in front of deletions; exact for one key.
constexpr std::uint64_t tombstone_records(const TombstoneRoom& room) {
  constexpr std::uint64_t kBytesOfEach = tombstone_text_bytes(0, 0) + kTextBytesOfAPart - 1;
  return (room.keys * kBytesOfEach + room.bytes) / kTextBytesOfAPart;
}
inline std::uint64_t tombstone_record_bytes(const Tombstone& tombstone) {
  return text_record_bytes(tombstone_text_bytes(tombstone.key.size(), tombstone.tube_name.size()));
}
// Returns true for the tombstone of a job, whose key outlives it.
inline bool is_tombstone(const JobStore& jobs, JobRef ref) {
  return jobs.tombstones() > 0 && jobs.find_tombstone(jobs[ref].id) == ref;
}
// Returns the bytes that a job, or a tombstone, takes in its file.
std::uint64_t live_bytes_of(const Engine& engine, JobRef ref);
// text_of_tombstone() writes the text of a tombstone's records to `to`. tombstone_from() reads it,
// without the job, whose id is in the records. The end is no later than its seconds allow, even if
// the wall clock was changed.
std::string_view text_of_tombstone(const Tombstone& tombstone, Duration wall_offset,
                                   TombstoneTextBytes& to);
std::optional<Tombstone> tombstone_from(std::string_view text, Duration wall_offset, Instant now);

// Returns the fields that are equal in every record of a job: without name and body. A reserved job
// is written as ready, because a restart makes it ready. `stamp` keeps the order of buried jobs.
Record change_of(const JournaledJob& job, const JobStore& jobs, Duration wall_offset,
                 std::int64_t stamp);
// Returns the record of a deletion.
Record deletion_of(JobId id);

// Returns a record with an id that was given out and whose job never existed: beanstalkd continues
// ids after the highest that it finds. A deletion follows. A crash may keep the first record only,
// so our reader recognizes it.
Record marker_of(JobId id);
bool is_marker(const Record& record);

// Returns the values of a record for Restoring::restore().
RestoredJob restored_from(const Record& record, Duration wall_offset);
// Returns true if the record of a delayed job with a tag `aft` was one of a held job: no delay
// begins so long after the put.
bool is_held_until(const Job& job, std::int64_t deadline_at, Duration wall_offset);
// Returns the time at which a delayed job gets ready, no later than its delay allows, even if the
// wall clock was changed.
Instant restored_deadline(std::int64_t deadline_at, std::uint32_t delay_s, Duration wall_offset,
                          Instant now);

}  // namespace haricot::binlog
