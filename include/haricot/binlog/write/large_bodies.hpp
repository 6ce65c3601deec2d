// Writes large bodies ahead of their records, a part in each turn. There is one LargeBody: puts,
// compaction and recovery take turns with it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "haricot/binlog/binlog_state.hpp"
#include "haricot/binlog/write/large_body.hpp"
#include "haricot/binlog/write/record_stream.hpp"
#include "haricot/binlog/write/room_ahead.hpp"
#include "haricot/queue/journal.hpp"

namespace haricot::binlog {

class LargeBodies {
 public:
  enum class User : std::uint8_t { put, compaction, recovery };

  // All outlive this.
  LargeBodies(BinlogState& state, RecordStream& stream, RoomAhead& room, LargeBody& body)
      : state_(state), stream_(stream), room_(room), body_(body) {}
  LargeBodies(const LargeBodies&) = delete;
  LargeBodies& operator=(const LargeBodies&) = delete;

  bool is_large(const BlobRef& body) const {
    return body && body.size() >= state_.options.large_body_bytes;
  }
  // Returns the body of a large job; null if the job has none.
  BlobRef body_of(const JournaledJob& job) const;
  // Returns true if the current body is that of the job.
  bool is_for(const BlobRef& body, std::size_t lead_bytes) const {
    return body_.is_for(body, lead_bytes);
  }
  bool is_none() const { return body_.state() == LargeBody::State::none; }
  // Returns true if work can be done before a sync ends.
  bool has_work() const { return body_.has_work(); }
  // Returns the reason of the last failure, for the log.
  const std::string& why() const { return body_.why(); }

  // Returns true if commands have recorded so much in this turn that puts with a body of their own
  // wait for the next turn.
  bool has_written_much() const;
  // Returns true if a put that waits for its body, or for its turn, has to wait longer. The binlog
  // requests the turn in which the wait ends.
  bool is_busy() const;

  // Returns ok if the body is written, and there is room for `keep` bytes beside it. later: the
  // body is being written, or waits for its turn or for the disk; call again in each turn. full,
  // failed: the write failed, and the next call begins again.
  JournalStatus write_ahead(User user, const BlobRef& body, std::size_t lead_bytes,
                            std::uint64_t keep);
  // Records a job whose body is written: the file begins with the record. If that fails, the job is
  // in doubt and is written again, like any other. Requires: write_ahead() returned ok, and memory
  // was prepared.
  void append(const JournaledJob& job);
  // Records a job that is written again. Returns false if the stream of records has failed.
  bool append_again(const JournaledJob& job);

  // Sets if a put waits for its turn.
  void set_wanted_by_put(bool is_wanted) { put_wants_it_ = is_wanted; }
  // Called when compaction begins, before its first request.
  void begin_compaction() { compaction_wants_it_ = false; }

  // Writes a slice.
  void advance();
  // Drops a body that nothing has requested in this turn. `puts_wait`: a put that was answered
  // `later` may still come.
  void end_turn(bool puts_wait);
  // Drops the body in later turns.
  void drop() { body_.drop(); }
  // Drops the body at once.
  void drop_all();

 private:
  JournalStatus begin_to_write(User user, const BlobRef& body, std::size_t lead_bytes,
                               std::uint64_t keep);
  bool has_to_leave_it_to_others(User user) const;
  // Returns true if writes are far ahead of the disk.
  bool is_far_ahead();
  JournalStatus failed();
  bool begin_file_with(const Record& record, JobRef ref);

  BinlogState& state_;
  RecordStream& stream_;
  RoomAhead& room_;
  LargeBody& body_;
  User user_ = User::put;             // User of the body, or of the last one if there is none.
  bool was_claimed_ = false;          // The body was requested in this turn.
  bool was_whole_ = false;            // It was whole, or had failed, at the last turn's end.
  bool put_wants_it_ = false;         // A put waits while another body is written.
  bool compaction_wants_it_ = false;  // Compaction waits while another body is written.
};

}  // namespace haricot::binlog
