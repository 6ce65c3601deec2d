// When the buried jobs of a tube were buried. The age of the first one in the tube's list is known
// within 10 % or a second, and no job keeps an instant.
//
// A run is a part of the list whose jobs were buried shortly after each other. As time goes by,
// runs whose ages differ little are joined, so there are a few hundred runs at most. If there is no
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

  // These are the runs of the list now.
  void restore(std::vector<Run> runs) { runs_ = std::move(runs); }

  std::size_t size() const { return runs_.size(); }
  const Run& at(std::size_t index) const { return runs_[index]; }

 private:
  void join(Instant now);

  static constexpr std::size_t kJoinedFrom = 64;

  std::vector<Run> runs_;                  // In the order of the list.
  std::size_t joined_from_ = kJoinedFrom;  // So many are joined before there are more.
};

}  // namespace haricot
