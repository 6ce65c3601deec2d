// Which jobs flushes have taken out of their tubes. A tube has one flush at a time.
//
// The heaps and the list of buried jobs leave the tube in O(1), and the jobs do not change. A ready
// or delayed one stands in the heaps of the flush, and a buried one is of the other side than those
// of its tube: that is how it is told that a job is there no more.

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
  // A flushed job, and when it would have become ready if it was delayed.
  struct Flushed {
    JobRef job;
    Instant deadline;
  };

  // The state outlives this.
  explicit Flushes(const QueueState& state) : state_(state) {}

  // How many are under way.
  std::uint32_t size() const { return size_; }
  // Whether a flush has the job.
  bool have(JobRef ref) const {
    if (size_ == 0) [[likely]]
      return false;
    return is_flushed(ref);
  }
  // The job of that id, unless a flush has it.
  JobRef find(JobId id) const {
    const JobRef ref = state_.jobs.find(id);
    if (size_ == 0 || ref == JobRef::none) [[likely]]
      return ref;
    return is_flushed(ref) ? JobRef::none : ref;
  }
  // What the journal is to know of a job, flushed or not.
  JournaledJob journaled(JobRef ref, const Job& job, const Tube& tube) const {
    const bool is_delayed = job.state() == JobState::delayed;
    return {ref, job, tube.name, is_delayed ? delayed_deadline(ref, job, tube) : Instant{}};
  }
  JournaledJob journaled(JobRef ref) const {
    return journaled(ref, state_.jobs[ref], state_.tube_of(ref));
  }

  // Whether the tube has jobs of these states.
  static bool has_some(const Tube& tube, JobStates states);
  // Begins one. Requires: the tube has none; `room` is empty.
  void take(Tube& tube, JobStates states, std::unique_ptr<FlushedJobs> room);
  // The job that is freed next: buried ones in their order first. Requires: there is one.
  Flushed next(const Tube& tube) const;
  // It is about to be destroyed. Requires: it is next().
  void drop_next(Tube& tube, const Flushed& next);
  // Requires: all jobs of the flush are freed.
  void end(Tube& tube);

 private:
  [[gnu::cold, gnu::noinline]] bool is_flushed(JobRef ref) const;
  [[gnu::noinline]] Instant delayed_deadline(JobRef ref, const Job& job, const Tube& tube) const;

  const QueueState& state_;
  std::uint32_t size_ = 0;
};

}  // namespace haricot
