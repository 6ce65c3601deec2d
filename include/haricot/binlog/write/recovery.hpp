// Recovery: after a failure of the disk, writes all records since the last good sync again, from
// memory, to another file. If files were removed from outside, it writes all jobs that lived in
// them again too. Until it succeeds, every command that needs a record is refused.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "haricot/base/turn_limits.hpp"
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
  void advance(const Budget& budget);
  // Makes the next attempt at once.
  void try_at_once() { retry_at_ = state_.now; }
  // Returns the time at which the next turn has to begin. Requires: the stream of records refuses.
  Instant next_event() const;

 private:
  // A record that is written again.
  struct Rewrite {
    enum class Kind : std::uint8_t {
      nothing,       // All records are written.
      job,           // The state of a job, or its deletion.
      needed_files,  // The record that says which files are needed.
    };
    Kind kind = Kind::nothing;
    JobId job = 0;  // Only of kind job.
  };

  // An attempt to recover: a file was begun, and records are written to it again.
  struct Attempt {
    std::vector<JobId> jobs_in_doubt;  // Jobs whose records are still to be written, last first.
    // If files are gone: no job lives in a file before this index.
    std::size_t rewritten_until = 0;
    // The record of needed files is in doubt, or is required because files are gone.
    bool has_to_write_needed_files = false;
    // State of the copies of jobs of files that are gone.
    enum class Copies : std::uint8_t { written, in_line, durable } copies = Copies::written;
    bool is_all_written = false;     // The last sync of the attempt can be requested.
    std::uint32_t first_serial = 0;  // Its first segment; 0: the attempt has ended.
  };

  Segments& segments() { return *state_.segments; }
  const Segments& segments() const { return *state_.segments; }
  Duration pause_before_next_try() const;
  void forget_failed_files();
  bool remove_failed(std::uint64_t number);
  bool begin();
  bool list_records_in_doubt(Attempt& attempt) const;
  Rewrite next_to_rewrite();
  std::optional<std::size_t> with_jobs_to_rewrite(std::size_t index) const;
  bool rewrite_some(const Budget& budget);
  bool rewrite(const Rewrite& next);
  bool rewrite_job(JobRef ref);
  bool rewrite_deletion(JobId id);
  bool rewrite_needed_files();
  bool has_to_wait_for_copies();
  std::uint64_t number_needed_from() const;
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
  // Time of an attempt even if the disk has no more space than before.
  Instant retry_for_no_reason_at_;
  std::uint64_t free_at_failure_ = 0;  // Free space of the disk after the last failed attempt.
  Attempt attempt_;
  bool has_to_return_ = false;  // The path may lead to another folder.
  bool waits_ = false;          // Waits for a sync.
};

}  // namespace haricot::binlog
