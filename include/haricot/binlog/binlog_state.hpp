// Data that all parts of the binlog share and no part owns: the settings that the operator chose,
// the promises to the jobs, and values that the binlog sets. If parts change one too, its comment
// says so.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "haricot/base/time.hpp"
#include "haricot/base/turn_limits.hpp"
#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/notices.hpp"
#include "haricot/binlog/segments.hpp"
#include "haricot/queue/engine.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/job_store.hpp"
#include "haricot/queue/journal.hpp"

namespace haricot::binlog {

// Moment at which records are made durable.
enum class SyncPolicy : std::uint8_t {
  every_turn,  // Before they are acknowledged.
  interval,    // At most sync_interval after they are written.
  never,       // At the discretion of the kernel.
};

// Settings of a binlog.
struct BinlogOptions {
  std::uint64_t file_bytes = 10485760;  // Rounded up to a multiple of 4096.
  SyncPolicy sync = SyncPolicy::interval;
  Duration sync_interval = Duration::milliseconds(50);
  // If set, a folder is opened only if nothing in it is lost or in doubt.
  bool strict = false;
  // Maximum number of files open at once; values below 6 count as 6.
  std::size_t open_files_max = 32;
  // Size from which a body is large: it is written in slices, to a file that begins with it.
  std::size_t large_body_bytes = 4 * 1024 * 1024;
  // Bytes of a large body that a turn writes, at least 1. From 512 on, slices end at sectors.
  std::uint64_t slice_bytes = 512 * 1024;
};

// Sum of the room that the journal has promised to its jobs, for records that must not be refused:
//
//   deletion     of each job, with the records of the key that it may leave behind
//   burial       of a job with a limit of tries, from its put or kick until a burial is recorded
//   end of hold  of a held job, until its record says that it is not held
//
// The journal's fields of a job mark the promise of a burial and of the end of a hold. The parts
// that record changes update the sum and the marks. RoomAhead keeps that much room.
class Promises {
 public:
  // Makes promises to a job that is new or restored. Requires: its store has the journal's fields.
  void make(const JournaledJob& job, JobStore& jobs, Promise promise);
  // Promises a deletion to a job with neither tags nor a limit of tries.
  void make_deletion() { ++deletions_; }
  // Ends all promises to a job that is about to be destroyed.
  void end(const JournaledJob& job, JobStore& jobs);
  // Promises a burial, unless the job has that promise.
  void make_burial(JournalFields& fields) {
    if (fields.has_burial_promised == 0) ++burials_;
    fields.has_burial_promised = 1;
  }
  // Ends the promise of a burial, if there is one.
  void end_burial(JournalFields& fields) {
    burials_ -= fields.has_burial_promised;
    fields.has_burial_promised = 0;
  }
  // Promises the end of its hold to a held job.
  void make_hold_end(JournalFields& fields) {
    ++hold_ends_;
    fields.has_hold_end_promised = 1;
  }
  void end_hold_end(JournalFields& fields) {
    hold_ends_ -= fields.has_hold_end_promised;
    fields.has_hold_end_promised = 0;
  }

  // Returns the bytes of the promised records, including losses at the ends of files.
  std::uint64_t bytes() const;
  // Returns an upper bound of the growth of bytes() by a new job.
  static std::uint64_t bytes_for(const PutRoom& put);

  // Checks that the sum matches all jobs of the engine, and that each job has its promises. Ends
  // the program if not. O(jobs); for tests.
  void check_invariants(Engine& engine) const;

 private:
  std::uint64_t deletions_ = 0;
  std::uint64_t burials_ = 0;
  std::uint64_t hold_ends_ = 0;
  TombstoneRoom tombstones_;  // Room for keys that outlive their jobs.
};

struct BinlogState {
  // The disk outlives the state.
  BinlogState(Disk& on_disk, const BinlogOptions& wanted) : disk(on_disk), options(wanted) {}
  BinlogState(const BinlogState&) = delete;
  BinlogState& operator=(const BinlogState&) = delete;

  // Returns true while the folder is open.
  bool is_in_use() const { return engine != nullptr && !is_closed; }
  // Returns a budget of that many steps from now on.
  Budget budget(std::uint64_t more) const { return {steps, more}; }
  bool has_syncs() const { return options.sync != SyncPolicy::never; }
  // Returns true if another server may still write to the folder. If so, no call uses a name that
  // another server's file may have, and no bytes that another server may have read are truncated.
  bool is_fenced() const { return epoch != 0; }

  Disk& disk;
  const BinlogOptions options;
  // Epoch of this server (see kEpochLast in record.hpp); 0: none. Set before the folder is opened.
  std::uint32_t epoch = 0;
  // The following fields are set when the folder is opened.
  Engine* engine = nullptr;
  bool is_closed = false;            // The run has ended.
  std::optional<Segments> segments;  // Updated by each part that writes, moves or removes files.
  Promises promises;                 // Room promised to the jobs of the engine.
  Instant now;                       // Time of this turn.
  Duration wall_offset;              // Wall clock minus the time.
  Notices notices;                   // Parts add notices for the log.
  // Steps of work on the folder that no command pays for: compaction, spares, recovery. Each part
  // adds its steps, and the budgets of the binlog count them. They are apart from the engine's
  // steps, because the cost of a command must not depend on the files of the folder.
  std::uint64_t steps = 0;
  // Time of the next check that the files exist. A part with a reason to check sets it to `now`.
  Instant check_files_at;
};

}  // namespace haricot::binlog
