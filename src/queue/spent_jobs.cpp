#include "haricot/queue/spent_jobs.hpp"

#include <memory>
#include <new>

namespace haricot {
namespace {

std::uint64_t hash_of(TubeRef tube) {
  return static_cast<std::uint64_t>(tube);
}

}  // namespace

SpentJobCounts::~SpentJobCounts() {
  tubes_.clear([](OfTube* counts) { delete counts; });
}

SpentJobCounts::OfTube* SpentJobCounts::find(TubeRef tube) const {
  return tubes_.find(hash_of(tube), [](const OfTube&) { return true; });
}

SpentJobCounts::OfTube* SpentJobCounts::find_or_create(TubeRef tube) {
  OfTube* const found = find(tube);
  if (found != nullptr) return found;
  std::unique_ptr<OfTube> made(new (std::nothrow) OfTube);
  if (made == nullptr) return nullptr;
  made->hash = hash_of(tube);
  return tubes_.insert(*made) ? made.release() : nullptr;
}

void SpentJobCounts::drop(TubeRef tube) {
  OfTube* const counts = find(tube);
  if (counts == nullptr) return;
  unlogged_ -= counts->unlogged;
  unlogged_of_gone_ += counts->unlogged;
  tubes_.erase(*counts);
  delete counts;
}

void SpentJobCounts::add(TubeRef tube, std::string_view name, JobId id, Instant now) {
  OfTube* const counts = find_or_create(tube);
  if (counts == nullptr) return;
  ++counts->total;
  ++counts->unlogged;
  ++unlogged_;
  if (now < counts->log_again || !lines_.take(now)) return;
  const std::uint64_t others = unlogged_ - counts->unlogged + unlogged_of_gone_;
  try {
    to_log_.push_back({std::string(name), id, counts->unlogged, others});
  } catch (const std::bad_alloc&) {
    return;  // Only the log lacks the job.
  }
  unlogged_ -= counts->unlogged;
  unlogged_of_gone_ = 0;
  counts->unlogged = 0;
  counts->log_again = now + kPauseBetweenLogs;
}

void SpentJobCounts::restore(TubeRef tube, std::uint64_t total) {
  if (OfTube* const counts = find_or_create(tube); counts != nullptr) counts->total = total;
}

std::uint64_t SpentJobCounts::total(TubeRef tube) const {
  const OfTube* const counts = find(tube);
  return counts == nullptr ? 0 : counts->total;
}

}  // namespace haricot
