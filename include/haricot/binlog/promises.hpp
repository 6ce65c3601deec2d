// What the journal has promised to its jobs: room for the records that they will need, and that
// must not be refused then.
//
//   a deletion   of each job, with the records of the key that it may leave behind
//   a burial     of a job with a limit of tries, from its put or kick until a burial is recorded
//   a hold's end of a held job, until it is recorded as held no more
//
// Here is only the sum, and marks in the journal's fields of each job that is promised a burial or
// the end of its hold.
// Who records changes keeps both. RoomAhead keeps so much room.

#pragma once

#include <cstdint>

#include "haricot/queue/engine.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/job_store.hpp"
#include "haricot/queue/journal.hpp"

namespace haricot::binlog {

class Promises {
 public:
  // To a job that is new, or was brought back; the store that it is in has fields of the journal.
  void make(const JournaledJob& job, JobStore& jobs, Promise promise);
  // The same to a job that has neither tags nor a limit of tries.
  void make_deletion() { ++deletions_; }
  // To a job that is about to be destroyed.
  void end(const JournaledJob& job, JobStore& jobs);
  // A burial alone, to a job that may have been promised one already.
  void make_burial(JournalFields& fields) {
    if (fields.has_burial_promised == 0) ++burials_;
    fields.has_burial_promised = 1;
  }
  // There need be none.
  void end_burial(JournalFields& fields) {
    burials_ -= fields.has_burial_promised;
    fields.has_burial_promised = 0;
  }
  // The end of a hold: to a job that is held.
  void make_hold_end(JournalFields& fields) {
    ++hold_ends_;
    fields.has_hold_end_promised = 1;
  }
  void end_hold_end(JournalFields& fields) {
    hold_ends_ -= fields.has_hold_end_promised;
    fields.has_hold_end_promised = 0;
  }

  // Of the records that are promised, with what may be lost at the ends of files.
  std::uint64_t bytes() const;
  // By how much that grows at most with a new job.
  static std::uint64_t bytes_for(const PutRoom& put);

  // Ends the program if the sum is not that of all jobs of the engine, or if a job lacks what it
  // needs. Costs a walk over all; for tests.
  void check_invariants(Engine& engine) const;

 private:
  std::uint64_t deletions_ = 0;
  std::uint64_t burials_ = 0;
  std::uint64_t hold_ends_ = 0;
  TombstoneRoom tombstones_;  // Of the keys that the deletions leave.
};

}  // namespace haricot::binlog
