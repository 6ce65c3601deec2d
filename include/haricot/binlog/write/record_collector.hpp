// Makes the records of a turn, collects them in memory, and writes them with one call.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "haricot/base/blob.hpp"
#include "haricot/base/turn_limits.hpp"
#include "haricot/binlog/format/job_record.hpp"
#include "haricot/binlog/format/record.hpp"
#include "haricot/binlog/write/record_syncs.hpp"
#include "haricot/binlog/write/stream_state.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/journal.hpp"

namespace haricot::binlog {

class RecordCollector {
 public:
  // Maximum of collected bytes; beyond it they are written before the turn ends.
  static constexpr std::uint64_t kCollectedBytesMax = 1024 * 1024;

  // All outlive this.
  RecordCollector(StreamState& stream, Refusal& refusal, RecordSyncs& syncs)
      : stream_(stream), state_(stream.binlog), refusal_(refusal), syncs_(syncs) {}
  RecordCollector(const RecordCollector&) = delete;
  RecordCollector& operator=(const RecordCollector&) = delete;

  // Allocates all memory that a record needs. Returns false if there is none.
  [[nodiscard]] bool prepare(std::size_t lead_bytes, std::size_t body_bytes);
  // prepare() for a record and the note behind it; `note_bytes` is from note_record_bytes().
  [[nodiscard]] bool prepare_with_note(std::size_t lead_bytes, std::size_t body_bytes,
                                       std::size_t note_bytes);
  // Allocates memory for that many short records.
  [[nodiscard]] bool prepare_short(std::uint32_t records);
  // Collects a record. Requires: a file is open, has room for it, and memory was prepared.
  void append(const Record& record, std::string_view body = {}, const BlobRef& blob = {});
  // Collects a short record in the room that every file keeps. Requires:
  // SegmentWriter::has_room_kept(), and memory was prepared.
  void append_to_room_kept(const Record& record);
  // Collects records of text. They belong to a record of that job, which has to follow at once, and
  // do not count as records. Requires: memory was prepared for all of them.
  void append_text(TextKind kind, JobId id, std::string_view text);
  // Collects records of text that stand alone. They count as one record. Requires: as for append().
  void append_text_alone(TextKind kind, JobId id, std::string_view text);
  // Counts a record that was written apart from the others. Requires: memory was prepared.
  void count(JobId id);

  // prepare_again() allocates memory for a record that was in doubt and is written again;
  // append_again() and append_text_again() collect it, and count_again() counts one that was
  // written apart from the others. It does not count as a new record.
  [[nodiscard]] bool prepare_again(std::size_t lead_bytes, std::size_t body_bytes) {
    return stream_.writer.prepare(lead_bytes, body_bytes);
  }
  void append_again(const Record& record, std::string_view body = {}, const BlobRef& blob = {});
  void append_text_again(TextKind kind, JobId id, std::string_view text);
  void count_again() { ++total_; }

  // Lets that many bytes be collected with the next records before they are written.
  void write_together(std::uint64_t bytes) {
    write_from_ = std::max(kCollectedBytesMax, stream_.writer.collected_bytes() + bytes);
  }
  // Writes the collected records. May fail: see Refusal::is_on().
  void flush();

  // Returns the number of all records since the start, of text and written again included.
  std::uint64_t total() const { return total_; }
  // Returns the steps of records collected in this turn, including bytes of large bodies that
  // count_bytes() adds.
  std::uint64_t steps_this_turn() const {
    return (total_ - total_before_turn_) * turn_limits::kStepsPerRecord +
           bytes_this_turn_ / turn_limits::kRecordBytesPerStep;
  }
  void count_bytes(std::uint64_t bytes) { bytes_this_turn_ += bytes; }
  void end_turn() {
    total_before_turn_ = total_;
    bytes_this_turn_ = 0;
  }

 private:
  void flush_if_many();

  StreamState& stream_;
  BinlogState& state_;
  Refusal& refusal_;
  RecordSyncs& syncs_;
  std::uint64_t total_ = 0;
  std::uint64_t total_before_turn_ = 0;
  std::uint64_t bytes_this_turn_ = 0;
  std::uint64_t write_from_ = kCollectedBytesMax;  // Collected bytes from which a write begins.
};

// Makes the records of jobs, and of keys that outlive their jobs, and collects them. Records of
// buried jobs have a stamp with the order, time and cause of the burial.
class JobRecorder {
 public:
  // Both outlive this.
  JobRecorder(StreamState& stream, RecordCollector& records)
      : stream_(stream), state_(stream.binlog), records_(records) {}
  JobRecorder(const JobRecorder&) = delete;
  JobRecorder& operator=(const JobRecorder&) = delete;

  // Each append function requires: as for RecordCollector::append().

  // Collects the full record of a job, with its tags and facts and without its note. The job lives
  // in the newest file from then on.
  void append_full(const JournaledJob& job);
  // Collects the note of a job if it has, or has had, one.
  void append_note(const JournaledJob& job);
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

  // These collect a record that was in doubt. It does not count as a new record. They require:
  // RecordCollector::prepare_again() returned true.
  void append_full_again(const JournaledJob& job);
  void append_note_again(const JournaledJob& job);
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
  void append_texts(const JournaledJob& job);
  void append_tombstone(const Tombstone& tombstone);

  StreamState& stream_;
  BinlogState& state_;
  RecordCollector& records_;
  std::int64_t last_stamp_ = 0;
};

}  // namespace haricot::binlog
