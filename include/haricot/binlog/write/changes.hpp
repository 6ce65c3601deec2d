// Changes by commands: takes room for the records of a command before anything changes, and
// collects the records afterwards.
//
// A command that needs the end of a sync or of a removal that is under way is answered `later`. It
// runs again when may_try_again() returns true.

#pragma once

#include <cstddef>
#include <cstdint>

#include "haricot/base/blob.hpp"
#include "haricot/binlog/binlog_state.hpp"
#include "haricot/binlog/write/compaction.hpp"
#include "haricot/binlog/write/large_bodies.hpp"
#include "haricot/binlog/write/record_stream.hpp"
#include "haricot/binlog/write/room_ahead.hpp"
#include "haricot/queue/journal.hpp"

namespace haricot::binlog {

class Changes {
 public:
  // All outlive this.
  Changes(BinlogState& state, RecordStream& stream, RoomAhead& room, LargeBodies& bodies,
          Compaction& compaction)
      : state_(state), stream_(stream), room_(room), bodies_(bodies), compaction_(compaction) {}
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;

  // These have the contracts of Journal.
  JournalStatus take_room_for_put(const PutRoom& put, const BlobRef& body);
  JournalStatus take_room_for_update(Promise promise);
  JournalStatus take_promised_room(const Promised& promised);
  bool may_try_again();
  void record(JobChange change, const JournaledJob& job);
  void record_deletion(const JournaledJob& job, const Tombstone* left);
  void forget_tombstone(JobRef tombstone_ref);

  // Called when a sync or a removal has ended.
  void disk_moved() { disk_moved_ = true; }
  // Returns true if a caller that was answered `later` may try again, and was not notified yet.
  bool is_time_to_try_again() const {
    return (answered_later_ && (disk_moved_ || stream_.sync_line().length() == 0)) ||
           (answered_busy_ && !bodies_.is_busy());
  }
  // Returns true if a caller waits for the disk.
  bool is_waited_for() const { return answered_later_; }
  // Returns the number of puts that were refused.
  std::uint64_t refused_puts() const { return refused_puts_; }

 private:
  bool can_record() const { return !stream_.is_refusing() && stream_.is_open(); }
  JournalStatus answer_later();
  JournalStatus answer_busy();
  JournalStatus room_for_put(std::size_t lead_bytes, const PutRoom& put, const BlobRef& body);
  JournalStatus room_for_large_put(const BlobRef& body, std::size_t lead_bytes, std::uint64_t keep);
  JournalStatus room_for_promised(const Promised& promised);
  JournalStatus room_for_several(std::uint32_t records);
  JournalStatus make_room(std::uint64_t record_bytes, std::uint64_t keep);
  void record_put(const JournaledJob& job);

  BinlogState& state_;
  RecordStream& stream_;
  RoomAhead& room_;
  LargeBodies& bodies_;
  Compaction& compaction_;
  Promise promise_ = Promise::nothing;  // Promise that the next record makes.
  bool answered_later_ = false;         // A caller got `later` and was not notified yet.
  bool disk_moved_ = false;             // A sync or a removal has ended since then.
  bool answered_busy_ = false;          // A caller got `later` because of LargeBodies::is_busy().
  std::uint64_t refused_puts_ = 0;
};

}  // namespace haricot::binlog
