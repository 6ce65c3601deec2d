// Looks at many jobs, which change nothing: in the order of their ids, or in that in which they
// will be served.

#include <algorithm>
#include <vector>

#include "haricot/base/check.hpp"
#include "haricot/queue/engine.hpp"

namespace haricot {
namespace {

// Adds the jobs of the first `count` slots, in order: O(count log count). The slots that may come
// next are the children of those that came, and stand in a heap of their own.
template <typename Slot>
void add_first(const IndexedHeap<Slot>& heap, std::uint32_t count, std::vector<JobRef>& found) {
  const auto is_later = [&heap](std::uint32_t a, std::uint32_t b) {
    return heap.at(b) < heap.at(a);
  };
  std::vector<std::uint32_t> next;
  next.reserve(std::size_t{count} + 1);
  if (!heap.empty()) next.push_back(0);
  for (; count > 0 && !next.empty(); --count) {
    std::pop_heap(next.begin(), next.end(), is_later);
    const std::uint32_t index = next.back();
    next.pop_back();
    found.push_back(heap.at(index).job);
    const std::uint64_t child = 2 * std::uint64_t{index} + 1;
    for (std::uint64_t i = child; i <= child + 1 && i < heap.size(); ++i) {
      next.push_back(static_cast<std::uint32_t>(i));
      std::push_heap(next.begin(), next.end(), is_later);
    }
  }
}

}  // namespace

ScanResult Engine::scan(JobId from, std::uint32_t count, const Tube* tube,
                        std::optional<JobState> state, std::vector<JobRef>& found) {
  found.reserve(found.size() + count);
  ScanResult result;
  JobRef ref = jobs_.first_from(from);
  for (; ref != JobRef::none && count > 0 && result.looked_at < kScanned;
       ref = jobs_.first_from(jobs_[ref].id + 1)) {
    ++result.looked_at;
    const Job& job = jobs_[ref];
    if (tube != nullptr && job.tube != tube->ref) continue;
    if (state && job.state() != *state) continue;
    if (flushes_ > 0 && is_flushed(ref)) continue;
    found.push_back(ref);
    --count;
  }
  steps_ += std::uint64_t{result.looked_at} * 2;
  if (ref != JobRef::none) result.next = jobs_[ref].id;
  return result;
}

void Engine::list(const Tube& tube, JobState state, std::uint32_t count,
                  std::vector<JobRef>& found) {
  CHECK(state != JobState::reserved);
  const std::size_t before = found.size();
  found.reserve(before + count);
  if (state == JobState::ready) {
    if (lanes_.size() > 0) {
      list_ready(tube, count, found);
    } else {
      add_first(tube.ready, count, found);
    }
  } else if (state == JobState::delayed) {
    add_first(tube.delayed, count, found);
  } else {
    for (JobRef ref = tube.first_buried; ref != JobRef::none && count > 0; --count) {
      found.push_back(ref);
      ref = static_cast<JobRef>(jobs_[ref].links.second);
    }
  }
  steps_ += (found.size() - before) * kStepsPerJob;
}

}  // namespace haricot
