// Flushes: the deletion of all jobs that were in some states of a tube at one moment.
//
// The moment is that of the command. It takes the heaps and the list of buried jobs out of the
// tube, in O(1), and gives them to a long task, which frees one job after another. From then on the
// jobs stand in no place of their tube, and this is how a command that names one by its id knows
// that it is not there any more: a ready or delayed job is not where its heap index points to, and
// a buried one carries another number than the tube's list of buried jobs. A put of the key of such
// a job takes the key over.
//
// If the journal refuses a deletion, the task puts back what is left.

#include <algorithm>
#include <utility>
#include <variant>

#include "haricot/base/check.hpp"
#include "haricot/queue/engine.hpp"

namespace haricot {
namespace {

// What a look for the number of a list costs a budget.
constexpr std::uint32_t kJobsPerLook = 20;

template <typename Heap>
bool is_at(const Heap& heap, std::uint32_t index, JobRef ref) {
  return index < heap.size() && heap.at(index).job == ref;
}

}  // namespace

ManyResult Engine::flush(Client& client, std::string_view tube_name, JobStates states) {
  CHECK(!client.is_busy());
  Tube* tube = tubes_.find(tube_name);
  if (tube == nullptr) return {Outcome::not_found};
  make_room_for_delivery();
  tasks_.make_room();

  Flush flush = {
      .ready = states.ready ? std::move(tube->ready) : IndexedHeap<ReadySlot>(),
      .delayed = states.delayed ? std::move(tube->delayed) : IndexedHeap<DeadlineSlot>()};
  if (states.ready && tube->times != nullptr) tube->times->ready.reset();
  tube->flushed_ready += flush.ready.size();
  tube->flushed_delayed += flush.delayed.size();
  if (states.buried && tube->first_buried != JobRef::none) {
    flush.wants_buried = true;
    take_buried(flush, *tube);
  }
  ++flushes_;
  announce_offer(*tube);
  LongTask& task = tasks_.begin(&client, tube);
  Flush& begun = task.work.emplace<Flush>(std::move(flush));
  client.has_task_ = true;

  const TaskState state = free_some(begun, *tube, budget_);
  if (state == TaskState::done) {
    const std::uint64_t flushed = begun.flushed;
    --flushes_;
    end_task(tasks_.take(task));
    return {Outcome::done, flushed};
  }
  if (state == TaskState::waits) tasks_.put_aside(task);
  return {Outcome::waiting};
}

TaskState Engine::step(LongTask& task, Flush& flush, Instant now, std::uint32_t& budget) {
  Tube& tube = *task.tube;
  if (!flush.is_putting_back) {
    const TaskState state = free_some(flush, tube, budget);
    if (state != TaskState::done) return state;
  }
  if (flush.is_putting_back) {
    put_back(flush, tube, now, budget);
    if (!flush.empty()) return TaskState::goes_on;
  }
  --flushes_;
  if (task.client != nullptr) {
    const auto kind =
        flush.is_putting_back ? Delivery::Kind::flush_failed : Delivery::Kind::flushed;
    deliver(*task.client, kind, JobRef::none, flush.flushed);
  }
  return TaskState::done;
}

// A number that neither the tube's list of buried jobs has nor that of a flush; nullopt: all are
// taken.
std::optional<std::uint32_t> Engine::free_burials(const Tube& tube) const {
  std::uint32_t taken = 1U << tube.burials;
  tasks_.for_each([&](const LongTask& task) {
    const auto* flush = std::get_if<Flush>(&task.work);
    if (flush != nullptr && task.tube == &tube && flush->first_buried != JobRef::none) {
      taken |= 1U << flush->burials;
    }
  });
  for (std::uint32_t number = 0; number < Job::kBurialLists; ++number) {
    if ((taken >> number & 1U) == 0) return number;
  }
  return std::nullopt;
}

// Takes the list of buried jobs out of the tube, if there is a number for the one that follows it.
void Engine::take_buried(Flush& flush, Tube& tube) {
  const std::optional<std::uint32_t> next = free_burials(tube);
  if (!next) return;
  flush.wants_buried = false;
  flush.first_buried = std::exchange(tube.first_buried, JobRef::none);
  flush.last_buried = std::exchange(tube.last_buried, JobRef::none);
  flush.burials = std::exchange(tube.burials, *next);
  if (tube.times != nullptr) flush.runs = std::move(tube.times->buried);
}

// Frees jobs until none is left (done), the budget is used up, the journal's disk has to be waited
// for, or the journal refuses (goes_on, and the rest is to be put back). The buried ones come
// first: their number is scarce.
TaskState Engine::free_some(Flush& flush, Tube& tube, std::uint32_t& budget) {
  if (flush.wants_buried) take_buried(flush, tube);
  while (!flush.empty()) {
    if (budget == 0) return TaskState::goes_on;
    const bool is_buried = flush.first_buried != JobRef::none;
    if (!is_buried && flush.ready.empty() && flush.delayed.empty()) {
      // Other flushes have all the numbers. If they wait for the disk, so does this one. The look
      // at them is work too: without it a call in which only this one has its turn would not end.
      budget -= std::min(budget, kJobsPerLook);
      return tasks_.has_waiting() ? TaskState::waits : TaskState::goes_on;
    }
    --budget;
    const JournalStatus room = journal_.reserve_delete();
    if (room == JournalStatus::later) return TaskState::waits;
    if (room != JournalStatus::ok) {
      flush.is_putting_back = true;
      flush.wants_buried = false;
      return TaskState::goes_on;
    }
    if (is_buried) {
      const JobRef ref = flush.first_buried;
      flush.first_buried = static_cast<JobRef>(jobs_[ref].links.second);
      if (flush.runs != nullptr) flush.runs->remove(ref, JobRef::none);
      free_flushed(flush, tube, ref, Instant{});
    } else if (!flush.ready.empty()) {
      --tube.flushed_ready;
      free_flushed(flush, tube, flush.ready.take_any().job, Instant{});
    } else {
      --tube.flushed_delayed;
      const DeadlineSlot slot = flush.delayed.take_any();
      free_flushed(flush, tube, slot.job, slot.deadline);
    }
  }
  return TaskState::done;
}

void Engine::free_flushed(Flush& flush, Tube& tube, JobRef ref, Instant deadline) {
  const Job& job = jobs_[ref];
  count_place(tube, job, false);
  journal_.record_delete(JournaledJob{ref, job, tube.name, deadline});
  if (job.has_tags != 0) [[unlikely]] {
    if (keys_to_keep_.keys > 0) count_key_to_keep(ref, false);
    keys_.let_go(ref);
    if (has_lane(ref, job)) leave_lane(ref);
  }
  jobs_.destroy(ref);
  steps_ += kStepsPerJob;
  ++flush.flushed;
}

// The rest of a flush that has failed goes back to where it was. The order does not depend on how
// the heaps stand: whoever waits gets the best job first, and delayed jobs keep their order. The
// buried jobs go from the last to the first, in front of those that were buried since.
void Engine::put_back(Flush& flush, Tube& tube, Instant now, std::uint32_t& budget) {
  for (; budget > 0 && !flush.empty(); --budget) {
    const std::uint64_t before = steps_;
    if (!flush.ready.empty()) {
      const JobRef ref = flush.ready.top().job;
      flush.ready.remove(0, jobs_);
      --tube.flushed_ready;
      count_place(tube, jobs_[ref], false);
      // Before it is in a place again: its lane may still have it among those that were flushed.
      if (has_lane(ref)) forget_flushed(*lanes_.lane_of(ref));
      if (tube.ready.reserve_one()) {
        enter_ready_again(ref);
        offer(tube, now);
      } else {
        enter_buried(ref);
      }
    } else if (!flush.delayed.empty()) {
      const DeadlineSlot slot = flush.delayed.top();
      flush.delayed.remove(0, jobs_);
      --tube.flushed_delayed;
      if (tube.delayed.reserve_one()) {
        tube.delayed.push(slot, jobs_);
        arm_tube(tube);
      } else {
        count_place(tube, jobs_[slot.job], false);
        enter_buried(slot.job);
      }
    } else {
      const JobRef ref = flush.last_buried;
      Job& job = jobs_[ref];
      const bool was_first = ref == flush.first_buried;
      // The one in front of the first is freed, so that its link leads nowhere.
      flush.last_buried = was_first ? JobRef::none : static_cast<JobRef>(job.links.first);
      if (was_first) {
        flush.first_buried = JobRef::none;
      } else {
        jobs_[flush.last_buried].links.second = static_cast<std::uint32_t>(JobRef::none);
      }
      job.set_buried(tube.burials);
      job.links = Links{0, static_cast<std::uint32_t>(tube.first_buried)};
      if (tube.first_buried == JobRef::none) {
        tube.last_buried = ref;
      } else {
        jobs_[tube.first_buried].links.first = static_cast<std::uint32_t>(ref);
      }
      tube.first_buried = ref;
      put_back_run(flush, tube, ref);
    }
    pay(budget, before);
    if (budget == 0) return;
  }
}

// Whether a flush has taken the job.
bool Engine::is_flushed(JobRef ref) const {
  const Job& job = jobs_[ref];
  const Tube& tube = tubes_[job.tube];
  switch (job.state()) {
    case JobState::ready:
      return !is_at(tube.ready, job.heap_index(), ref);
    case JobState::delayed:
      return !is_at(tube.delayed, job.heap_index(), ref);
    case JobState::buried:
      return job.burial_list() != tube.burials;
    case JobState::reserved:
      break;
  }
  return false;
}

// When a delayed job gets ready, or would have, if a flush has taken it.
Instant Engine::delayed_deadline(JobRef ref, const Job& job, const Tube& tube) const {
  if (flushes_ == 0 || !is_flushed(ref)) return tube.delayed.at(job.heap_index()).deadline;
  Instant deadline;
  tasks_.for_each([&](const LongTask& task) {
    const auto* flush = std::get_if<Flush>(&task.work);
    if (flush == nullptr || task.tube->ref != job.tube) return;
    if (!is_at(flush->delayed, job.heap_index(), ref)) return;
    deadline = flush->delayed.at(job.heap_index()).deadline;
  });
  return deadline;
}

}  // namespace haricot
