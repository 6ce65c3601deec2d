#include "haricot/queue/burial_runs.hpp"

#include <algorithm>
#include <cstddef>
#include <new>

namespace haricot {
namespace {

// Jobs that were buried within this time form one run, whatever their age.
constexpr Duration kRun = Duration::milliseconds(500);

// Returns the maximum length of a run that ended this long ago.
Duration run_max(Duration age) {
  return std::max(kRun, Duration::nanoseconds(age.count() / 10));
}

}  // namespace

void BurialRuns::add(JobRef job, Instant now) {
  if (!runs_.empty() && now - runs_.back().since <= kRun) {
    runs_.back().last = job;
    runs_.back().until = now;
    return;
  }
  if (runs_.size() >= joined_from_) join(now);
  try {
    runs_.push_back({.since = now, .until = now, .last = job});
  } catch (const std::bad_alloc&) {
    if (runs_.empty()) return;  // The job has no run.
    runs_.back().last = job;
    runs_.back().until = now;
  }
}

void BurialRuns::remove(JobRef job, JobRef before) {
  if (before == JobRef::none) {
    if (!runs_.empty() && runs_.front().last == job) runs_.erase(runs_.begin());
    return;
  }
  const auto run =
      std::find_if(runs_.begin(), runs_.end(), [job](const Run& r) { return r.last == job; });
  if (run == runs_.end()) return;
  if (run != runs_.begin() && (run - 1)->last == before) {
    runs_.erase(run);
  } else {
    run->last = before;
  }
}

std::optional<Instant> BurialRuns::oldest() const {
  if (runs_.empty()) return std::nullopt;
  return runs_.front().since;
}

// Joins each run with those after it, as long as it stays short for its age.
void BurialRuns::join(Instant now) {
  std::size_t size = 0;
  for (const Run& run : runs_) {
    if (size > 0 && run.until - runs_[size - 1].since <= run_max(now - run.until)) {
      runs_[size - 1].until = run.until;
      runs_[size - 1].last = run.last;
    } else {
      runs_[size++] = run;
    }
  }
  runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(size), runs_.end());
  // Not at the next run again.
  joined_from_ = std::max(kJoinedFrom, 2 * size);
}

}  // namespace haricot
