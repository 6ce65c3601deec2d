// Jobs that flushes have taken out of their tubes. A tube has one flush at a time.
//
// A flush moves the heaps and the list of buried jobs out of the tube in O(1), and does not change
// the jobs. A ready or delayed job is flushed if a heap of the flush has it at the index that the
// job stores. A buried job is flushed if its burial_side differs from that of its tube.

#pragma once

#include <cstdint>
#include <memory>

#include "haricot/base/time.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/queue_state.hpp"
#include "haricot/queue/tube.hpp"

namespace haricot {

class Flushes {
 public:
  // A flushed job, and the end of its delay if it was delayed.
  struct Flushed {
    JobRef job;
    Instant deadline;
  };

  explicit Flushes(const QueueState& state) : state_(state) {}

  // Number of flushes in progress.
  std::uint32_t size() const { return size_; }
  // Returns true if a flush has the job.
  bool have(JobRef ref) const {
    if (size_ == 0) [[likely]]
      return false;
    return is_flushed(ref);
  }
  // Returns the job of that id, or JobRef::none if there is none or a flush has it.
  JobRef find(JobId id) const {
    const JobRef ref = state_.jobs.find(id);
    if (size_ == 0 || ref == JobRef::none) [[likely]]
      return ref;
    return is_flushed(ref) ? JobRef::none : ref;
  }
  // Returns a job, flushed or not, as the journal records it.
  JournaledJob journaled(JobRef ref, const Job& job, const Tube& tube) const {
    const bool is_delayed = job.state() == JobState::delayed;
    return {ref, job, tube.name, is_delayed ? delayed_deadline(ref, job, tube) : Instant{}};
  }
  JournaledJob journaled(JobRef ref) const {
    return journaled(ref, state_.jobs[ref], state_.tube_of(ref));
  }

  // Returns true if the tube has jobs in these states.
  static bool has_some(const Tube& tube, JobStates states);
  // Begins a flush, which keeps its jobs in `room`. Requires: the tube has no flush, and `room` is
  // empty.
  void take(Tube& tube, JobStates states, std::unique_ptr<FlushedJobs> room);
  // Returns the job to free next; buried jobs come first, in their order. Requires: a job is left.
  Flushed next(const Tube& tube) const;
  // Removes a job that is about to be destroyed. Requires: it is next().
  void drop_next(Tube& tube, const Flushed& next);
  // Ends the flush. Requires: all its jobs are freed.
  void end(Tube& tube);

 private:
  [[gnu::cold, gnu::noinline]] bool is_flushed(JobRef ref) const;
  [[gnu::noinline]] Instant delayed_deadline(JobRef ref, const Job& job, const Tube& tube) const;

  const QueueState& state_;
  std::uint32_t size_ = 0;
};

}  // namespace haricot
