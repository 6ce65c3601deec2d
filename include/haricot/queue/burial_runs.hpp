// Burial times of the buried jobs of a tube. The age of the first job in the tube's list is known
// to within 10 %, or a second if that is more, without an instant in each job.
//
// A run is a part of the list whose jobs were buried shortly after one another. As time passes,
// runs whose ages differ little are joined, so there are at most a few hundred. If there is no
// memory for a run, its jobs belong to the run before it.

#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "haricot/base/time.hpp"
#include "haricot/queue/job.hpp"

namespace haricot {

class BurialRuns {
 public:
  struct Run {
    Instant since;  // Burial of its first job, even if that has left.
    Instant until;  // Burial of its last job.
    JobRef last;    // Last job. The first one follows the last job of the run before it.
  };

  // Adds a job at the end of the list.
  void add(JobRef job, Instant now);
  // Removes a job; `before` is the job before it in the list, or none. O(runs), but O(1) for the
  // first job of the list.
  void remove(JobRef job, JobRef before);

  // Returns when the first job of the list was buried, or a time shortly before; nullopt if there
  // is none.
  std::optional<Instant> oldest() const;

  // Sets the runs of the list.
  void restore(std::vector<Run> runs) { runs_ = std::move(runs); }

  std::size_t size() const { return runs_.size(); }
  const Run& at(std::size_t index) const { return runs_[index]; }

 private:
  void join(Instant now);

  static constexpr std::size_t kJoinedFrom = 64;

  std::vector<Run> runs_;                  // In the order of the list.
  std::size_t joined_from_ = kJoinedFrom;  // Number of runs at which runs are joined.
};

}  // namespace haricot
