// Room for the records of jobs, which is taken before anything changes, and the records themselves,
// which are collected afterwards: Changes for commands, RestoredJobs at a start.

#pragma once

#include <cstddef>
#include <cstdint>

#include "haricot/base/blob.hpp"
#include "haricot/binlog/binlog_state.hpp"
#include "haricot/binlog/write/compaction.hpp"
#include "haricot/binlog/write/large_bodies.hpp"
#include "haricot/binlog/write/record_stream.hpp"
#include "haricot/binlog/write/room_ahead.hpp"
#include "haricot/queue/job_store.hpp"
#include "haricot/queue/journal.hpp"

namespace haricot::binlog {

// Changes by commands. A command that needs the end of a sync or of a removal that is under way is
// answered `later`. It runs again when may_try_again() returns true.
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
  JournalStatus take_room_for_note(JobRef job, std::size_t note_bytes);
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
  std::size_t note_bytes_before_ = 0;   // Bytes of the records of the note that is replaced.
  bool answered_later_ = false;         // A caller got `later` and was not notified yet.
  bool disk_moved_ = false;             // A sync or a removal has ended since then.
  bool answered_busy_ = false;          // A caller got `later` because of LargeBodies::is_busy().
  std::uint64_t refused_puts_ = 0;
};

// Jobs and keys that were restored into the engine at a start: promises of room to them, and
// records of those that are in no file, because the server before kept them in memory. All
// functions that record wait for the disk.
class RestoredJobs {
 public:
  // All outlive this.
  RestoredJobs(BinlogState& state, RecordStream& stream, Compaction& compaction, Changes& changes)
      : state_(state), stream_(stream), compaction_(compaction), changes_(changes) {}
  RestoredJobs(const RestoredJobs&) = delete;
  RestoredJobs& operator=(const RestoredJobs&) = delete;

  // Makes the promises to the jobs that were read from files.
  void promise_room();
  // Records the jobs and keys that are in no file, and syncs them, so that the server that kept
  // them can drop them. Returns false if that failed: then the folder has a part of the jobs, each
  // of them whole. May throw std::bad_alloc.
  [[nodiscard]] bool record_all();
  // Record a job, or a key that outlived its job, that is in no file. Return false if that failed.
  [[nodiscard]] bool record(JobRef ref);
  [[nodiscard]] bool record_tombstone(JobRef tombstone_ref);
  // Records the highest id given out, if no job has it, so that a reader continues the ids after
  // it. Returns false if that failed.
  [[nodiscard]] bool remember_last_id();

 private:
  bool is_in_file(JobRef ref) const { return state_.segments->of(ref) != nullptr; }
  bool record_jobs();
  bool record_tombstones();

  BinlogState& state_;
  RecordStream& stream_;
  Compaction& compaction_;
  Changes& changes_;
};

}  // namespace haricot::binlog
