// Sum of the room that the journal has promised to its jobs, for records that must not be refused:
//
//   deletion     of each job, with the records of the key that it may leave behind
//   burial       of a job with a limit of tries, from its put or kick until a burial is recorded
//   end of hold  of a held job, until its record says that it is not held
//
// The journal's fields of a job mark the promise of a burial and of the end of a hold. The parts
// that record changes update the sum and the marks. RoomAhead keeps that much room.

#pragma once

#include <cstdint>

#include "haricot/queue/engine.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/job_store.hpp"
#include "haricot/queue/journal.hpp"

namespace haricot::binlog {

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

}  // namespace haricot::binlog
