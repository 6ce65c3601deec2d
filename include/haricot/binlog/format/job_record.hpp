// Between a job and its record: the same values in the units and on the clocks of either side.
//
// The engine counts in seconds and on the monotonic clock, a record in nanoseconds and on the wall
// clock. `wall_offset` is what has to be added to the one to get the other.

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

// What stands in front of the block of a job's full record: the records of its tags, and the name
// of its tube.
inline std::size_t lead_bytes(std::size_t name_bytes, std::size_t tag_bytes) {
  return name_bytes + text_record_bytes(tag_bytes);
}
// `jobs` is the store that the job is in.
inline std::size_t lead_bytes(const JournaledJob& job, const JobStore& jobs) {
  return lead_bytes(job.tube_name.size(), jobs.tags(job.ref).size());
}

// The bytes of the job's full record, with those in front of it.
inline std::uint64_t full_record_bytes(std::size_t lead_bytes, std::size_t body_bytes) {
  constexpr std::size_t kTrailerBytes = 2;
  return header_bytes(lead_bytes) + body_bytes + kTrailerBytes;
}
inline std::uint64_t full_record_bytes(const JournaledJob& job, const JobStore& jobs) {
  return full_record_bytes(lead_bytes(job, jobs), job.job.body_bytes);
}

// How many records of tombstones (text_record.hpp) stand in front of deletions at most: exactly so
// many if it is one key.
constexpr std::uint64_t tombstone_records(const TombstoneRoom& room) {
  constexpr std::uint64_t kBytesOfEach = tombstone_text_bytes(0, 0) + kTextBytesOfAPart - 1;
  return (room.keys * kBytesOfEach + room.bytes) / kTextBytesOfAPart;
}
inline std::uint64_t tombstone_record_bytes(const Tombstone& tombstone) {
  return text_record_bytes(tombstone_text_bytes(tombstone.key.size(), tombstone.tube_name.size()));
}
// Whether that is not a job but the tombstone of one, whose key outlives it.
inline bool is_tombstone(const JobStore& jobs, JobRef ref) {
  return jobs.tombstones() > 0 && jobs.find_tombstone(jobs[ref].id) == ref;
}
// What a job, or the tombstone of one, takes of the file that it lives in.
std::uint64_t live_bytes_of(const Engine& engine, JobRef ref);
// The text of the records of a tombstone, in `to`; and what such a text says, but for who it is of.
// It ends no later than its time allows, whatever happened to the wall clock.
std::string_view text_of_tombstone(const Tombstone& tombstone, Duration wall_offset,
                                   TombstoneTextBytes& to);
std::optional<Tombstone> tombstone_from(std::string_view text, Duration wall_offset, Instant now);

// What is the same in every record of a job: without name and body. A reserved job is written as a
// ready one, which is what a restart makes of it. `stamp` keeps the order of buried jobs.
Record change_of(const JournaledJob& job, const JobStore& jobs, Duration wall_offset,
                 std::int64_t stamp);
// The record of its deletion.
Record deletion_of(JobId id);

// The record of a job that never was, with an id that was given out: beanstalkd counts ids on from
// the highest that it finds. The record of a deletion follows. A crash may keep the first record
// and not the second, so our reader knows the first one by itself.
Record marker_of(JobId id);
bool is_marker(const Record& record);

// What a record says of a job, for Restoring::restore().
RestoredJob restored_from(const Record& record, Duration wall_offset);
// Whether the record of a delayed job with a tag `aft` was one of a held job. No other delay begins
// so long after the put.
bool is_held_until(const Job& job, std::int64_t deadline_at, Duration wall_offset);
// When a delayed job gets ready; no later than its delay allows, whatever happened to the wall
// clock.
Instant restored_deadline(std::int64_t deadline_at, std::uint32_t delay_s, Duration wall_offset,
                          Instant now);

}  // namespace haricot::binlog
