// Jobs with a limit of tries: by their tag, or all of them by the server's limit.
//
// Every reserve is a try. When a try ends and the limit is reached, the job is buried instead of
// made ready again. A kick gives one more try. So nothing has to be kept beside the limit: what a
// job has of reserves and kicks says it all, and both stand in its records.
//
// The end of a try is recorded where there is room, so that a restart knows it. A burial is
// recorded always: its room was promised with the put, or with the kick. If the journal does not
// take it now, it is late: record_late() tries again, as a task of the Backlog.

#pragma once

#include <cstdint>
#include <vector>

#include "haricot/base/budget.hpp"
#include "haricot/queue/flushes.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/journal.hpp"
#include "haricot/queue/queue_state.hpp"

namespace haricot {

class Tries {
 public:
  // Both outlive this.
  Tries(QueueState& state, const Flushes& flushes) : state_(state), flushes_(flushes) {}

  // From here on every job may be tried so often that has no limit of its own; 0: as often as it
  // takes. Requires: there is no job.
  void limit(std::uint32_t tries) { max_ = tries; }
  bool limits_all() const { return max_ > 0; }
  // Whether there is a job with a limit.
  bool has_some() const { return max_ > 0 || state_.jobs.with_tries() > 0; }
  // Whether it is worth asking more of the job.
  bool may_limit(const Job& job) const { return max_ > 0 || job.has_tags != 0; }
  // Whether the job has had as many tries as it may have.
  bool is_spent(JobRef ref) const { return may_limit(state_.jobs[ref]) && is_limit_reached(ref); }
  // Returns true if the put of the job has set its limit.
  bool has_own_limit(JobRef ref) const {
    return state_.jobs[ref].has_tags != 0 && state_.jobs.has_tries(ref);
  }
  // Returns true if the job has a limit, its own or the server's.
  bool is_limited(JobRef ref) const { return max_ > 0 || has_own_limit(ref); }

  // Room for the record by which a job may come out of burial.
  JournalStatus take_room_for_unburial(JobRef ref);
  // The job is buried because its tries are used up.
  void count_spent(JobRef ref);
  // A try has ended, with or without burial. Requires: the job is in its place.
  void record_end(JobRef ref) {
    if (may_limit(state_.jobs[ref])) [[unlikely]]
      record_end_of_limited(ref);
  }
  void record_burial(JobRef ref);

  // Whether there is a burial that is yet to be recorded.
  bool has_late() const { return !late_.empty(); }
  // False: the journal has refused one again.
  bool record_late(const Budget& budget);

 private:
  // A burial that is yet to be recorded: of that job, and which of its burials it is.
  struct LateBurial {
    JobId id;
    std::uint64_t number;
  };

  [[gnu::cold, gnu::noinline]] bool is_limit_reached(JobRef ref) const;
  [[gnu::cold, gnu::noinline]] void record_end_of_limited(JobRef ref);
  std::uint64_t burials_of(JobRef ref) const { return state_.jobs.counted(ref, JobEvent::bury); }
  bool has_room_for_burial(JobRef ref);

  QueueState& state_;
  const Flushes& flushes_;
  std::uint32_t max_ = 0;
  std::vector<LateBurial> late_;
};

}  // namespace haricot
