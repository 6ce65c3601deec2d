// Makes the records of jobs, and of keys that outlive their jobs, and collects them in the stream.
//
// Buried jobs are ordered by a stamp in their records, which grows with each burial.

#pragma once

#include <cstdint>

#include "haricot/binlog/format/record.hpp"
#include "haricot/binlog/write/record_collector.hpp"
#include "haricot/binlog/write/stream_state.hpp"
#include "haricot/queue/journal.hpp"

namespace haricot::binlog {

class JobRecorder {
 public:
  // Both outlive this.
  JobRecorder(StreamState& stream, RecordCollector& records)
      : stream_(stream), state_(stream.binlog), records_(records) {}
  JobRecorder(const JobRecorder&) = delete;
  JobRecorder& operator=(const JobRecorder&) = delete;

  // Each append function requires: as for RecordCollector::append().

  // Collects the full record of a job, with its tags. The job lives in the newest file from then
  // on.
  void append_full(const JournaledJob& job);
  // Collects a change of a job. A job that is buried becomes the last of the buried ones.
  void append_change(const JournaledJob& job);
  // Collects a change of a job that keeps its place.
  void append_change_in_place(const JournaledJob& job);
  // Collects the deletion of a job. `left`: the key that outlives it, which lives in the newest
  // file from then on; null: none does.
  void append_deletion(JobId id, const Tombstone* left);
  // Collects a key that outlives its job, without a deletion. The key lives in the newest file from
  // then on.
  void append_tombstone_alone(const Tombstone& tombstone);

  // append_full_again() and append_deletion_again() collect a record that was in doubt. It does not
  // count as a new record. Require: RecordCollector::prepare_again() returned true.
  void append_full_again(const JournaledJob& job);
  void append_deletion_again(JobId id, const Tombstone* left);

  // full_record() and full_record_again() return the full record of a job for a caller that writes
  // it apart from the others, the second one if it was in doubt. When the record is in the newest
  // file, the caller counts it, and calls attach(), which moves the job to that file. `number`: the
  // record that has to be durable before the file counts as having the id.
  Record full_record(const JournaledJob& job);
  Record full_record_again(const JournaledJob& job) const;
  void attach(const JournaledJob& job, std::uint64_t number);

  // Continues after the highest stamp that was read. Before anything is recorded.
  void continue_after(std::int64_t last_stamp) { last_stamp_ = last_stamp; }
  // Stamps a job that was buried now and is recorded later, so that a copy keeps its order.
  void stamp_burial(const JournaledJob& job) { (void)stamp_of(job); }

 private:
  std::int64_t stamp_of(const JournaledJob& job);
  std::int64_t stamp_kept_of(const JournaledJob& job) const;
  Record full_record_with(const JournaledJob& job, std::int64_t stamp) const;
  void append_tags(const JournaledJob& job);
  void append_tombstone(const Tombstone& tombstone);

  StreamState& stream_;
  BinlogState& state_;
  RecordCollector& records_;
  std::int64_t last_stamp_ = 0;
};

}  // namespace haricot::binlog
