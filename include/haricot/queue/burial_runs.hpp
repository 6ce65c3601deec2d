// When the buried jobs of a tube were buried: so the age of the first one in its list is known
// within 10 % or a second, and no job keeps an instant.
//
// A run is a part of the list in which jobs were buried one soon after another. As time goes by,
// runs that have come to be close together, as seen from now, are joined; so there are a few
// hundred at most. Where memory is refused, a job belongs to the run in front of it.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "haricot/base/time.hpp"
#include "haricot/queue/job.hpp"

namespace haricot {

class BurialRuns {
 public:
  struct Run {
    Instant since;  // When its first job was buried, even if that one has left.
    Instant until;  // And its last.
    JobRef last;    // The run goes from after the run before it to here.
  };

  // A job has come to the end of the list.
  void add(JobRef job, Instant now);
  // A job leaves the list; `before` is the one in front of it, or none. O(runs), but O(1) for the
  // first job of the list.
  void remove(JobRef job, JobRef before);

  // When the first job of the list was buried, or somewhat before; nullopt: there is none.
  std::optional<Instant> oldest() const;

  // To move a run to the front of other runs, with a list that is put back from its end.
  bool ends_with(JobRef job) const { return !runs_.empty() && runs_.back().last == job; }
  // Requires: not empty.
  Run take_last();
  void add_first(const Run& run);

  std::size_t size() const { return runs_.size(); }
  const Run& at(std::size_t index) const { return runs_[index]; }

 private:
  void join(Instant now);

  static constexpr std::size_t kJoinedFrom = 64;

  std::vector<Run> runs_;                  // In the order of the list.
  std::size_t joined_from_ = kJoinedFrom;  // So many are joined before there are more.
};

}  // namespace haricot
