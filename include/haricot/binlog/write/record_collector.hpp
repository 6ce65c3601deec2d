// Collects the records of a turn in memory, and writes them with one call.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "haricot/base/blob.hpp"
#include "haricot/base/turn_limits.hpp"
#include "haricot/binlog/format/record.hpp"
#include "haricot/binlog/format/text_record.hpp"
#include "haricot/binlog/write/record_syncs.hpp"
#include "haricot/binlog/write/refusal.hpp"
#include "haricot/binlog/write/stream_state.hpp"
#include "haricot/queue/job.hpp"

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
  // append_again() collects it, and count_again() counts one that was written apart from the
  // others. It does not count as a new record.
  [[nodiscard]] bool prepare_again(std::size_t lead_bytes, std::size_t body_bytes) {
    return stream_.writer.prepare(lead_bytes, body_bytes);
  }
  void append_again(const Record& record, std::string_view body = {}, const BlobRef& blob = {});
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

}  // namespace haricot::binlog
