// Ends of tries: jobs with a limit of tries, that of their tag or the server's for all jobs, and
// jobs with a backoff.
//
// Every reserve is a try. If the limit is reached when a try ends, the job is buried instead of
// made ready. A kick gives one more try. The number of tries follows from the counts of reserves
// and kicks, which the job's records contain, so only the limit has to be stored.
//
// A backoff delays the job when a try ends, unless its holder has asked for a delay: after the
// first try by the seconds of its tag, and after each further one by twice as many. A kick begins
// anew.
//
// The end of a try is recorded if there is room, so that a restart knows it. A burial is always
// recorded: its room was promised with the put or the kick. If the journal refuses it now, it is
// late, and record_late() retries, as a task of Backlog.

#pragma once

#include <cstdint>
#include <vector>

#include "haricot/base/turn_limits.hpp"
#include "haricot/queue/flushes.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/journal.hpp"
#include "haricot/queue/queue_state.hpp"

namespace haricot {

// How the end of a try moves the job: to the buried ones, or back after a delay.
struct TryEnd {
  bool is_spent = false;  // The tries are used up.
  std::uint32_t delay_s = 0;
};

class Tries {
 public:
  Tries(QueueState& state, const Flushes& flushes) : state_(state), flushes_(flushes) {}

  // Limits the tries of each job without a limit of its own; 0: no limit. Requires: there are no
  // jobs.
  void limit(std::uint32_t tries) { max_ = tries; }
  bool limits_all() const { return max_ > 0; }
  // Returns true if there may be a job whose tries count.
  bool has_some() const { return max_ > 0 || state_.jobs.with_tries() > 0; }
  // Returns false if the tries of the job certainly do not count; this check is cheap.
  bool may_count(const Job& job) const { return max_ > 0 || job.has_tags != 0; }
  // Returns true if the tries of the job count: it has a limit, its own or the server's, or a
  // backoff.
  bool counts(JobRef ref) const { return max_ > 0 || state_.jobs.has_any(ref, kTryTags); }
  // Returns true if the job has a tag with its limit.
  bool has_own_limit(JobRef ref) const { return state_.jobs.has(ref, Tag::tries); }
  // Returns true if the client that set the limit of the job knows that a release may bury it.
  bool expects_burial(JobRef ref) const {
    return has_own_limit(ref) && !tags_in(state_.jobs.tags(ref)).tries_are_quiet;
  }
  // Returns how the try of a reserved job ends; its holder has asked for that delay.
  TryEnd end_of_try(JobRef ref, std::uint32_t asked_s) const {
    if (!may_count(state_.jobs[ref])) [[likely]]
      return {.delay_s = asked_s};
    return end_of_counted(ref, asked_s);
  }

  // Takes room for the record by which a job leaves the buried ones, and for another burial if its
  // tries count.
  JournalStatus take_room_for_unburial(JobRef ref);
  // Begins the backoff of a job anew. Called after a kick is counted.
  void kicked(JobRef ref);
  // Counts a job that was buried because its tries are used up.
  void count_spent(JobRef ref);
  // Records the end of a try without a burial if the tries of the job count. Requires: the job is
  // in its place.
  void record_end(JobRef ref);
  void record_burial(JobRef ref);

  // Returns true if a burial has yet to be recorded.
  bool has_late() const { return !late_.empty(); }
  // Records late burials. Returns false if the journal has refused one again.
  bool record_late(const Budget& budget);

 private:
  // A burial that has yet to be recorded: the job, and its number among the burials of the job.
  struct LateBurial {
    JobId id;
    std::uint64_t number;
  };

  [[gnu::cold, gnu::noinline]] TryEnd end_of_counted(JobRef ref, std::uint32_t asked_s) const;
  bool is_limit_reached(JobRef ref) const;
  std::uint32_t backoff_s(JobRef ref) const;
  std::uint64_t burials_of(JobRef ref) const { return state_.jobs.counted(ref, JobEvent::bury); }
  bool has_room_for_burial(JobRef ref);

  QueueState& state_;
  const Flushes& flushes_;
  std::uint32_t max_ = 0;
  std::vector<LateBurial> late_;
};

}  // namespace haricot
