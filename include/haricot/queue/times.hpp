// Times of tubes: how long jobs wait and are worked on, and the ages of the oldest ready and buried
// jobs. This class updates them as jobs move; TubeTimes stores them, except for the times of
// burials, which the JobStore has.
//
// No function fails: if memory is short, nothing is counted.
//
// A query of a tube with few ready jobs scans them, so that nothing has to be stored. Above
// kReadyScanned jobs they are counted by age, until only kReadyCounted are left; the gap between
// the two avoids work when their number fluctuates.

#pragma once

#include <cstdint>

#include "haricot/base/time.hpp"
#include "haricot/queue/engine_results.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/queue_state.hpp"
#include "haricot/queue/tube.hpp"
#include "haricot/queue/tube_times.hpp"

namespace haricot {

class Times {
 public:
  static constexpr std::uint32_t kReadyScanned = 256;
  static constexpr std::uint32_t kReadyCounted = 128;

  explicit Times(QueueState& state) : state_(state) {}

  // Called before a job is reserved. Requires: the job is ready.
  void count_queued(Tube& tube, const Job& job) {
    if (TubeTimes* const times = times_of(tube); times != nullptr) [[likely]] {
      times->move_to(state_.now);
      times->queued.add(TubeTimes::length(job.ready_since(), state_.now));
    }
  }
  // Called when the worker of a job deletes it. The TTR began with its reserve or the last touch.
  void count_worked(Tube& tube, Instant ttr_end, std::uint32_t ttr_s) {
    if (TubeTimes* const times = times_of(tube); times != nullptr) [[likely]] {
      times->move_to(state_.now);
      times->worked.add(TubeTimes::length(ttr_end - Duration::seconds(ttr_s), state_.now));
    }
  }
  // Called after a job has entered the ready heap, and before it leaves.
  void count_ready(Tube& tube, const Job& job) {
    if (tube.ready.size() > kReadyCounted) [[unlikely]]
      count_one_of_many(tube, job);
  }
  void count_less_ready(Tube& tube, const Job& job) {
    if (tube.ready.size() > kReadyCounted) [[unlikely]]
      count_less_of_many(tube, job);
  }
  // Called after all ready jobs have left the tube.
  static void forget_ready(Tube& tube);

  // Returns the times of the tube. Counts detail_steps() as steps.
  TubeDetail detail(const Tube& tube);
  static std::uint32_t detail_steps(const Tube& tube);

 private:
  // Returns null if memory is short.
  TubeTimes* times_of(Tube& tube) {
    if (tube.times == nullptr) [[unlikely]]
      return make_times(tube);
    return tube.times.get();
  }
  [[gnu::cold, gnu::noinline]] TubeTimes* make_times(Tube& tube);
  [[gnu::noinline]] void count_one_of_many(Tube& tube, const Job& job);
  [[gnu::noinline]] void count_less_of_many(Tube& tube, const Job& job);

  QueueState& state_;
};

}  // namespace haricot
