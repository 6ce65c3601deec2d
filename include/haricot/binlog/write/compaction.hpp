// Compaction: keeps the size of the folder in proportion to the jobs that live in it.
//
// It always takes the oldest file: a deletion recorded in it can only be of a job that lived there
// or in a file that was removed. The file's living jobs are written again after all other records,
// and the file is removed when those records are durable.

#pragma once

#include <cstdint>
#include <string>

#include "haricot/base/turn_limits.hpp"
#include "haricot/binlog/binlog_state.hpp"
#include "haricot/binlog/write/large_bodies.hpp"
#include "haricot/binlog/write/record_stream.hpp"
#include "haricot/binlog/write/room_ahead.hpp"
#include "haricot/queue/journal.hpp"

namespace haricot::binlog {

class Compaction {
 public:
  // All outlive this.
  Compaction(BinlogState& state, RecordStream& stream, RoomAhead& room, LargeBodies& bodies)
      : state_(state), stream_(stream), room_(room), bodies_(bodies) {}
  Compaction(const Compaction&) = delete;
  Compaction& operator=(const Compaction&) = delete;

  bool has_garbage_to_collect() const;
  // Does a part of the work within the budget, in whole records.
  void advance(const Budget& budget);
  // Returns the rest of the budget of this turn, which grows with the records of commands.
  Budget budget_of_turn() const;
  // Returns the steps of its records in this turn, which the stream counts as well.
  std::uint64_t moved_this_turn() const { return moved_this_turn_; }
  // Returns true if a sync or a removal has to end before the work continues.
  bool waits() const { return waits_; }
  // Returns true if it waits only for a sync that may not be due yet.
  bool wants_sync() const { return wants_sync_; }
  // Returns the time at which the next turn has to begin.
  Instant next_event() const;
  // Returns true if no command may begin a file now, because the folder is far too large. If work
  // of the disk has just ended, continues compaction first.
  bool is_too_far_ahead(const Budget& budget);
  // On a full disk: continues for a change that lacks room. Returns false if that cannot help.
  bool collect_for_space(const Budget& budget);
  void end_turn() {
    has_collected_for_space_ = false;
    moved_this_turn_ = 0;
  }

  // Events of the stream of records.
  void sync_ended() {
    waits_ = false;
    has_moved_ = true;
  }
  void removal_ended(DiskStatus status);
  void failed() { removal_mark_ = 0; }  // Recovery syncs the folder.

  // Records an id that nothing else in the folder contains any more. Requires: no job has it.
  [[nodiscard]] JournalStatus mark_id(JobId id);
  // Records a key that outlives its job, without the deletion of the job. Returns `failed` or
  // `full` also if there is no memory.
  [[nodiscard]] JournalStatus write_tombstone(const Tombstone& tombstone);

  std::uint64_t records_migrated() const { return records_migrated_; }

 private:
  enum class Result : std::uint8_t { nothing_to_do, did_some, has_to_wait };

  Segments& segments() { return *state_.segments; }
  const Segments& segments() const { return *state_.segments; }
  std::uint64_t garbage_worth_collecting() const;
  std::uint64_t garbage_of_oldest() const;
  std::uint64_t garbage_of_newest() const;
  Result move_one();
  Result move_tombstone(JobRef tombstone_ref);
  Result move_large(const JournaledJob& job, const BlobRef& body);
  Result remove_oldest();
  Result drop_oldest_at_once();
  [[nodiscard]] bool is_durable(std::uint64_t record);
  Result not_now(JournalStatus status);
  [[nodiscard]] JournalStatus write_oldest_needed();
  [[nodiscard]] bool is_replaced(std::size_t index);
  const Segment* file_naming(JobId id, std::size_t after) const;
  void drop_oldest();
  Result pause_after_waiting();
  Result pause_on();
  void report_removal_failed(const std::string& why);

  BinlogState& state_;
  RecordStream& stream_;
  RoomAhead& room_;
  LargeBodies& bodies_;
  bool waits_ = false;       // Waits for a sync or a removal.
  bool wants_sync_ = false;  // A record must be synced before a file can be removed.
  bool has_moved_ = false;   // The disk has made progress since the last call.
  // Mark of the sync that makes a removal durable that did not go through the line of syncs.
  std::uint64_t removal_mark_ = 0;
  Instant again_;
  // Time of the next try after a removal or a large body has failed. A change that lacks room does
  // not advance it.
  Instant begin_again_;
  bool has_to_make_room_ = false;         // A change needs room, until the next file is removed.
  bool has_collected_for_space_ = false;  // In this turn.
  std::uint64_t moved_this_turn_ = 0;
  std::uint64_t records_migrated_ = 0;
};

}  // namespace haricot::binlog
