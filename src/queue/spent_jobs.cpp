#include "haricot/queue/spent_jobs.hpp"

#include <new>

namespace haricot {

void SpentJobCounts::add(TubeRef tube, std::string_view name, JobId id, Instant now) {
  try {
    OfTube& counts = tubes_[tube];
    ++counts.total;
    ++counts.unlogged;
    if (now < counts.log_again) return;
    to_log_.push_back({std::string(name), id, counts.unlogged});
    counts.unlogged = 0;
    counts.log_again = now + kPauseBetweenLogs;
  } catch (const std::bad_alloc&) {
    // The job is buried, whether it is counted and logged or not.
  }
}

std::uint64_t SpentJobCounts::total(TubeRef tube) const {
  const auto found = tubes_.find(tube);
  return found == tubes_.end() ? 0 : found->second.total;
}

}  // namespace haricot
