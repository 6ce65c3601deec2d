// How the engine counts the times of a tube's jobs as they go by. None of it can fail: what there
// is no memory for is not counted.

#pragma once

#include <cstdint>

#include "haricot/base/time.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/tube.hpp"
#include "haricot/queue/tube_times.hpp"

namespace haricot {

// So many ready jobs a look at a tube looks through. More are counted by age, until so few are left
// as the second number says.
inline constexpr std::uint32_t kReadyLookedAt = 256;
inline constexpr std::uint32_t kReadyCounted = 128;

[[gnu::cold, gnu::noinline]] TubeTimes* make_times(Tube& tube, Instant now);

// Null: there is no memory.
inline TubeTimes* times_of(Tube& tube, Instant now) {
  if (tube.times == nullptr) [[unlikely]]
    return make_times(tube, now);
  return tube.times.get();
}

// Of a job that is about to be reserved. Requires: it is ready.
inline void count_queued(Tube& tube, const Job& job, Instant now) {
  if (TubeTimes* const times = times_of(tube, now); times != nullptr) [[likely]] {
    times->move_to(now);
    times->queued.add(TubeTimes::length(job.ready_since(), now));
  }
}

// Of a job that its worker deletes. The TTR began with its reserve or the last touch.
inline void count_worked(Tube& tube, Instant ttr_end, std::uint32_t ttr_s, Instant now) {
  if (TubeTimes* const times = times_of(tube, now); times != nullptr) [[likely]] {
    times->move_to(now);
    times->worked.add(TubeTimes::length(ttr_end - Duration::seconds(ttr_s), now));
  }
}

}  // namespace haricot
