// The files of the binlog, oldest first, and the jobs that live in each. A job lives in the file
// that has its full record. A file is needed as long as a job lives in it or in an older file,
// because the record of a deletion must outlast the full record of the deleted job.
//
// A key that outlives its job lives in the file that has its records, as if it were a job: the
// tombstone of the job (queue/job_store.hpp) represents it.
//
// The journal's fields link the jobs of a file in the order of their records, so the size of this
// structure does not depend on the number of jobs.

#pragma once

#include <cstdint>
#include <deque>

#include "haricot/queue/job_store.hpp"

namespace haricot::binlog {

struct Segment {
  std::uint64_t number = 0;      // N of binlog.N
  std::uint32_t serial = 0;      // Used by the journal's fields: counts up without gaps.
  bool is_gone = false;          // The file was removed from outside.
  bool was_passed_over = false;  // The start skipped it, because it was certainly not needed.
  bool has_to_be_kept = false;   // A part was unreadable, and there is no copy.
  std::uint64_t bytes = 0;       // The length of the file.
  std::uint64_t cut_to = 0;      // Length to which the file must still be truncated; 0: none.
  std::uint64_t live_bytes = 0;  // Bytes of the records of its jobs.
  std::uint32_t live_jobs = 0;
  JobRef first = JobRef::none;
  JobRef last = JobRef::none;
  JobId highest_id = 0;              // Highest id of a full record in it.
  std::uint64_t highest_record = 0;  // Number of that record; 0 if it was there at the start.
  std::uint64_t unneeded_from = 0;   // Record that says that it is not needed; 0: none yet.
  std::uint64_t moved_until = 0;     // Last record that moved a job out of it.
  // Last record of all when its last job had left: no later record is about its jobs. 0: not set
  // yet.
  std::uint64_t emptied_at = 0;
};

class Segments {
 public:
  // Requires: the store has the journal's fields. It outlives this.
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
  // Remembers that the newest file has a full record of that id.
  void remember_id(JobId id, std::uint64_t record);
  // Returns the next job in its file's list.
  JobRef after(JobRef ref) const { return jobs_.journal_fields(ref).next; }
  // Returns the file with the job's full record; null if no file has it.
  Segment* of(JobRef ref);
  const Segment* of(JobRef ref) const { return const_cast<Segments*>(this)->of(ref); }

  // May throw std::bad_alloc. The reference is valid until that segment is removed.
  Segment& add(std::uint64_t number);
  // Requires: no job lives in it.
  void remove_oldest();
  void remove_newest();
  // Removes the newest file from the list; its jobs become the last ones of the file before.
  // O(its jobs). Requires: there are two files.
  void merge_newest();

  // Returns a file number: the jobs of all files up to it must be written again, because a file was
  // removed from outside. 0: none.
  std::uint64_t gone_until() const { return gone_until_; }
  void set_gone_until(std::uint64_t number) { gone_until_ = number; }

  // Schedules the truncation of a file to that many bytes, which are not 0: bytes of a failed write
  // follow them.
  void cut_later(Segment& segment, std::uint64_t bytes) {
    segment.cut_to = bytes;
    has_to_cut_ = true;
  }
  // Returns true if a file must still be truncated. O(1); may be true when all of these files were
  // removed.
  bool has_to_cut() const { return has_to_cut_; }
  // Called before these files are truncated. cut_later() has to follow for each one that fails.
  void begin_to_cut() { has_to_cut_ = false; }

  // Moves a job, whose records take that many bytes, to the newest file.
  void attach(JobRef ref, std::uint64_t bytes);
  // Changes the bytes that the records of a job take.
  void resize(JobRef ref, std::uint64_t bytes_before, std::uint64_t bytes);
  // Removes a job from its file, if it is in one.
  void detach(JobRef ref, std::uint64_t bytes);

  // Sums over all files.
  std::uint64_t live_bytes() const { return live_bytes_; }
  std::uint64_t live_jobs() const { return live_jobs_; }
  // Sum of the lengths of all files except the newest, which may still grow.
  std::uint64_t older_bytes() const { return older_bytes_; }

  // Ends the program if lists and sums are inconsistent. For tests.
  void check_invariants() const;

 private:
  JobStore& jobs_;
  std::deque<Segment> segments_;
  std::uint32_t next_serial_ = 1;
  std::uint64_t live_bytes_ = 0;
  std::uint64_t live_jobs_ = 0;
  std::uint64_t older_bytes_ = 0;
  std::uint64_t gone_until_ = 0;
  bool has_to_cut_ = false;
};

}  // namespace haricot::binlog
