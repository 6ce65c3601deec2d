// Recovery: after a failure of the disk, writes all records since the last good sync again, from
// memory, to another file. If files were removed from outside, it writes all jobs that lived in
// them again too. Until it succeeds, every command that needs a record is refused.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "haricot/base/budget.hpp"
#include "haricot/binlog/binlog_state.hpp"
#include "haricot/binlog/write/folder_watch.hpp"
#include "haricot/binlog/write/large_bodies.hpp"
#include "haricot/binlog/write/record_stream.hpp"
#include "haricot/binlog/write/room_ahead.hpp"

namespace haricot::binlog {

class Recovery {
 public:
  // All outlive this.
  Recovery(BinlogState& state, RecordStream& stream, RoomAhead& room, LargeBodies& bodies,
           FolderWatch& watch)
      : state_(state), stream_(stream), room_(room), bodies_(bodies), watch_(watch) {}
  Recovery(const Recovery&) = delete;
  Recovery& operator=(const Recovery&) = delete;

  // Events of the stream of records.
  void failed(const StreamEvents::Failure& failure) noexcept;
  void syncs_taken();

  // Does a part of the work within the budget, in whole records. Requires: the stream of records
  // refuses.
  void go_on(const Budget& budget);
  // Makes the next attempt at once.
  void try_at_once() { retry_at_ = state_.now; }
  // Returns the time at which the next turn has to begin. Requires: the stream of records refuses.
  Instant next_event() const;

 private:
  Segments& segments() { return *state_.segments; }
  const Segments& segments() const { return *state_.segments; }
  Duration pause_before_next_try() const;
  void forget_failed_files();
  bool remove_failed(std::uint64_t number);
  bool begin();
  bool list_what_is_unsafe();
  bool has_to_rewrite() const;
  std::optional<std::size_t> with_jobs_to_rewrite(std::size_t index) const;
  JobId next_to_rewrite();
  std::uint64_t number_needed_from() const;
  bool rewrite_some(const Budget& budget);
  bool has_to_wait_for_copies();
  bool rewrite(JobId id);
  bool rewrite_end(JobId id);
  bool get_room(std::uint64_t bytes, std::size_t lead_bytes, std::size_t body_bytes);
  bool rewrite_large(const JournaledJob& job, const BlobRef& body);
  bool remove_one_left_behind();
  void recovered();

  BinlogState& state_;
  RecordStream& stream_;
  RoomAhead& room_;
  LargeBodies& bodies_;
  FolderWatch& watch_;

  Instant retry_at_ = Instant::never();
  Instant retry_for_no_reason_at_;     // Time of an attempt even if the disk has no more space than
                                       // before.
  std::uint64_t free_at_failure_ = 0;  // Free space of the disk after the last failed attempt.
  std::vector<JobId> rewrite_;         // Ids that are still to be written again, last first.
  std::uint32_t first_serial_ = 0;     // First segment of the current attempt; 0: none.
  std::size_t rewritten_until_ = 0;  // If files are gone: no job lives in a file before this index.
  bool is_unneeded_written_ = false;  // The record that those files are not needed is written.
  enum class Copies : std::uint8_t { written, in_line, durable };
  Copies copies_ =
      Copies::written;          // State of the copies of jobs of those files, when all are written.
  bool has_to_return_ = false;  // The path may lead to another folder.
  bool waits_ = false;          // Waits for a sync.
};

}  // namespace haricot::binlog
