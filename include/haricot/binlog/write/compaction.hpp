// Compaction: the folder stays in proportion to the jobs that live in it.
//
// Always the oldest file: a deletion that is recorded in it can only be of a job that lived there
// or in a file that is gone. Its living jobs are written anew after all others, and when those
// records are durable the file is removed.

#pragma once

#include <cstdint>
#include <string>

#include "haricot/base/budget.hpp"
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
  // Does as much of it as the budget allows, in whole records.
  void go_on(const Budget& budget);
  // What it has recorded in this turn, in steps: a part of what the stream counts.
  std::uint64_t moved_this_turn() const { return moved_this_turn_; }
  // Whether a sync or a removal has to end before it goes on.
  bool waits() const { return waits_; }
  // Whether it waits for nothing but a sync that may not be due yet.
  bool wants_sync() const { return wants_sync_; }
  // When the next turn has to come for this.
  Instant next_event() const;
  // Whether the folder is so far too large that no command must begin a file now. If the disk does
  // nothing any more, this goes on first.
  bool is_too_far_ahead(const Budget& budget);
  // On a full disk: goes on for a change that lacks room. False: nothing is going to come of it.
  bool collect_for_space(const Budget& budget);
  void end_turn() {
    has_collected_for_space_ = false;
    moved_this_turn_ = 0;
  }

  // What it hears from the stream of records.
  void sync_ended() {
    waits_ = false;
    has_moved_ = true;
  }
  void removal_ended(DiskStatus status);
  void failed() { removal_mark_ = 0; }  // Recovery syncs the folder.

  // Writes down an id that nothing else in the folder tells of any more. Requires: no job has it.
  [[nodiscard]] JournalStatus mark_id(JobId id);
  // Writes down a key that outlives its job, without the deletion of the job. `failed` or `full` if
  // there is no memory, too.
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
  bool waits_ = false;       // For a sync or a removal.
  bool wants_sync_ = false;  // Of a record without which no file is removed.
  bool has_moved_ = false;   // The disk, since this went on the last time.
  // In the line of syncs: the one that makes durable that a file has gone by another way.
  std::uint64_t removal_mark_ = 0;
  Instant again_;
  // The same for what takes turns, a removal or a large body, after one has failed. A change that
  // lacks room does not bring it nearer.
  Instant begin_again_;
  bool has_to_make_room_ = false;         // For a change, until the next file is gone.
  bool has_collected_for_space_ = false;  // In this turn.
  std::uint64_t moved_this_turn_ = 0;
  std::uint64_t records_migrated_ = 0;
};

}  // namespace haricot::binlog
