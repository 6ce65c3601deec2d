// Large bodies are written ahead of their records, a part in each turn. There is one LargeBody:
// puts, compaction and recovery use it one after the other.

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
  // Null if the job has none.
  BlobRef body_of(const JournaledJob& job) const;
  // Whether the one that is here is that very body.
  bool is_for(const BlobRef& body, std::size_t lead_bytes) const {
    return body_.is_for(body, lead_bytes);
  }
  bool is_none() const { return body_.state() == LargeBody::State::none; }
  // Whether there is something to do before a sync has ended.
  bool has_work() const { return body_.has_work(); }
  // Why the last one could not be written: for the log.
  const std::string& why() const { return body_.why(); }

  // Whether commands have recorded so much in this turn that puts with a body of their own wait for
  // the next.
  bool has_written_much() const;
  // Whether a put that waits for its body, or for its turn, has to wait on. It ends in a turn for
  // which the binlog asks: it ends with a turn, or with a body on which something is done in each.
  bool is_busy() const;

  // ok: the body is written, and beside it there is room for `keep` bytes. later: it is being
  // written, or has to wait for its turn or for the disk; to be asked for again in each turn. full,
  // failed: it could not be written, and the next call begins anew.
  JournalStatus write_ahead(User user, const BlobRef& body, std::size_t lead_bytes,
                            std::uint64_t keep);
  // Records a job whose body is whole: the file begins with it. If that fails, the job is in doubt
  // and is written anew, as any other. Requires: write_ahead() was ok, and memory was prepared.
  void append(const JournaledJob& job);
  // The same for one that is written anew. False: the stream of records has failed.
  bool append_again(const JournaledJob& job);

  // A put waits for its turn; or none does any more.
  void set_wanted_by_put(bool is_wanted) { put_wants_it_ = is_wanted; }
  // Compaction begins, and has not asked yet.
  void begin_compaction() { compaction_wants_it_ = false; }

  // Writes a slice.
  void go_on();
  // Drops a body that nobody has asked for. `puts_wait`: one may come that was told `later`.
  void end_turn(bool puts_wait);
  // Nobody needs it any more.
  void drop() { body_.drop(); }
  // The same to the end, at once.
  void drop_all();

 private:
  JournalStatus begin_to_write(User user, const BlobRef& body, std::size_t lead_bytes,
                               std::uint64_t keep);
  bool has_to_leave_it_to_others(User user) const;
  // Of the disk.
  bool is_far_ahead();
  JournalStatus failed();
  std::string_view text_of_tags(const JournaledJob& job) const;
  bool begin_file_with(const Record& record, std::string_view tags);

  BinlogState& state_;
  RecordStream& stream_;
  RoomAhead& room_;
  LargeBody& body_;
  User user_ = User::put;             // Who had it begun; of the last one, if there is none.
  bool was_claimed_ = false;          // In this turn.
  bool was_whole_ = false;            // Or failed, at the end of the last turn.
  bool put_wants_it_ = false;         // A body that another one was in the way of.
  bool compaction_wants_it_ = false;  // The same.
};

}  // namespace haricot::binlog
