// The files of the binlog, oldest first, and the jobs that live in each. A job lives in the file
// that has its full record. A file is needed as long as a job lives in it or in an older file,
// because the record of a deletion must outlast the full record of the deleted job.
//
// A key that outlives its job lives in the file that has its records, as if it were a job: the
// tombstone of the job (queue/job_store.hpp) stands for it.
//
// The jobs of a file are linked by their journal notes, in the order of their records. So nothing
// here grows with the number of jobs.

#pragma once

#include <cstdint>
#include <deque>

#include "haricot/queue/job_store.hpp"

namespace haricot::binlog {

struct Segment {
  std::uint64_t number = 0;  // N of binlog.N
  // N of the name that the file has, if that is another one; else the same.
  std::uint64_t name_number = 0;
  std::uint32_t serial = 0;  // What notes refer to: counts up, without the gaps that numbers have.
  bool is_gone = false;      // Somebody has taken the file away.
  bool was_passed_over = false;  // At the start: it was not needed for sure.
  bool has_to_be_kept = false;   // Not all of it could be read, and there is no copy.
  std::uint64_t bytes = 0;       // The length of the file.
  std::uint64_t cut_to = 0;      // What is after this length has yet to be cut off; 0: nothing.
  std::uint64_t live_bytes = 0;  // Of the records of its jobs.
  std::uint32_t live_jobs = 0;
  JobRef first = JobRef::none;
  JobRef last = JobRef::none;
  JobId highest_id = 0;              // Of those that a full record in it names.
  std::uint64_t highest_record = 0;  // That record; 0 if it was there at the start.
  std::uint64_t unneeded_from = 0;   // The record that tells that it is not needed; 0: none yet.
  std::uint64_t moved_until = 0;     // The record that was the last to move a job out of it.
  // The last record of all when no job lived in it any more: what its jobs became is not after
  // that. 0: not looked at yet.
  std::uint64_t emptied_at = 0;
};

class Segments {
 public:
  // Requires: the store has notes. It outlives this.
  explicit Segments(JobStore& jobs) : jobs_(jobs) {}
  Segments(const Segments&) = delete;
  Segments& operator=(const Segments&) = delete;

  bool empty() const { return segments_.empty(); }
  std::size_t size() const { return segments_.size(); }
  Segment& oldest() { return segments_.front(); }
  Segment& newest() { return segments_.back(); }
  const Segment& oldest() const { return segments_.front(); }
  const Segment& newest() const { return segments_.back(); }
  Segment& at(std::size_t index) { return segments_[index]; }
  const Segment& at(std::size_t index) const { return segments_[index]; }
  // The newest file has a full record of that id.
  void remember_id(JobId id, std::uint64_t record);
  // The job after that one in its file's list.
  JobRef after(JobRef ref) const { return jobs_.journal_fields(ref).next; }
  // Null if the job's full record is in no file.
  Segment* of(JobRef ref);
  const Segment* of(JobRef ref) const { return const_cast<Segments*>(this)->of(ref); }

  // May throw std::bad_alloc. The reference is valid until that segment is removed.
  Segment& add(std::uint64_t number);
  // Requires: no job lives in it.
  void remove_oldest();
  void remove_newest();
  // Forgets the newest file; its jobs count to the one before, as its last ones. O(its jobs).
  // Requires: there are two.
  void merge_newest();

  // Up to which number the jobs of all files have to be written anew, because one of the files was
  // taken away; 0: of none.
  std::uint64_t gone_until() const { return gone_until_; }
  void set_gone_until(std::uint64_t number) { gone_until_ = number; }

  // A job whose records of that many bytes stand in the newest file; not in any other then.
  void attach(JobRef ref, std::uint64_t bytes);
  // Its record is not needed any more. Does nothing if there is none.
  void detach(JobRef ref, std::uint64_t bytes);

  // Of all files together.
  std::uint64_t live_bytes() const { return live_bytes_; }
  std::uint64_t live_jobs() const { return live_jobs_; }
  // Of all but the newest, whose length alone may still change.
  std::uint64_t older_bytes() const { return older_bytes_; }

  // Ends the program if lists and numbers do not fit together. For tests.
  void check_invariants() const;

 private:
  JobStore& jobs_;
  std::deque<Segment> segments_;
  std::uint32_t next_serial_ = 1;
  std::uint64_t live_bytes_ = 0;
  std::uint64_t live_jobs_ = 0;
  std::uint64_t older_bytes_ = 0;
  std::uint64_t gone_until_ = 0;
};

}  // namespace haricot::binlog
