// What tubes know of times: how long their jobs wait and are worked on, and since when the oldest
// are ready or buried. Here it is kept right as jobs move; what is kept is TubeTimes.
//
// None of it can fail: what there is no memory for is not counted.
//
// A look at a tube with few ready jobs looks through them, so that nothing has to be kept. From
// kReadyLookedAt on they are counted by age, and again no more from kReadyCounted on: a number of
// jobs that goes up and down by some makes no work.

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
  static constexpr std::uint32_t kReadyLookedAt = 256;
  static constexpr std::uint32_t kReadyCounted = 128;

  // The state outlives this.
  explicit Times(QueueState& state) : state_(state) {}

  // The job is about to be reserved. Requires: it is ready.
  void count_queued(Tube& tube, const Job& job) {
    if (TubeTimes* const times = times_of(tube); times != nullptr) [[likely]] {
      times->move_to(state_.now);
      times->queued.add(TubeTimes::length(job.ready_since(), state_.now));
    }
  }
  // A job is deleted by its worker. The TTR began with its reserve or the last touch.
  void count_worked(Tube& tube, Instant ttr_end, std::uint32_t ttr_s) {
    if (TubeTimes* const times = times_of(tube); times != nullptr) [[likely]] {
      times->move_to(state_.now);
      times->worked.add(TubeTimes::length(ttr_end - Duration::seconds(ttr_s), state_.now));
    }
  }
  // The job has come to the ready heap, or is about to leave it.
  void count_ready(Tube& tube, const Job& job) {
    if (tube.ready.size() > kReadyCounted) [[unlikely]]
      count_one_of_many(tube, job);
  }
  void count_less_ready(Tube& tube, const Job& job) {
    if (tube.ready.size() > kReadyCounted) [[unlikely]]
      count_less_of_many(tube, job);
  }
  // The job has come to the end of the buried ones, or leaves them; `before` is the one in front of
  // it, or none.
  void count_buried(Tube& tube, JobRef ref);
  static void count_less_buried(Tube& tube, JobRef ref, JobRef before) {
    if (tube.times != nullptr && tube.times->buried != nullptr) {
      tube.times->buried->remove(ref, before);
    }
  }
  // The jobs of these states have left the tube.
  static void forget(Tube& tube, JobStates states);

  // Does detail_steps().
  TubeDetail detail(const Tube& tube);
  static std::uint32_t detail_steps(const Tube& tube);

 private:
  // Null: there is no memory.
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
