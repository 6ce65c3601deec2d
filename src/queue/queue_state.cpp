#include "haricot/queue/queue_state.hpp"

#include <algorithm>

#include "haricot/base/check.hpp"

namespace haricot {

QueueState::QueueState(Instant start, Journal& to, const HashKey& key)
    : journal(to),
      jobs(to.has_job_fields()),
      tubes(key),
      default_tube(tubes.create("default")),
      wheel(start),
      now(start) {
  CHECK(default_tube != nullptr);
}

QueueState::~QueueState() {
  for (std::uint32_t i = 0; i < tubes.size(); ++i) wheel.cancel(tubes[tubes.at(i).ref].timer);
}

void QueueState::free_if_unreferenced(Tube& tube) {
  if (&tube == default_tube || tube.is_referenced()) return;
  wheel.cancel(tube.timer);
  spent_jobs.forget(tube.ref);
  steps += tubes.destroy(tube);
}

// A timer never fires too late, but may fire too early: if the deadline has moved back, it is only
// set again. So most reserves and deletes do not touch the wheel.
void QueueState::arm(Timer& timer, Instant deadline) {
  if (!timer.is_set() || deadline < timer.deadline()) wheel.set(timer, deadline);
}

void QueueState::arm_tube(Tube& tube) {
  Instant next = Instant::never();
  if (!tube.delayed.empty()) next = tube.delayed.top().deadline;
  if (tube.paused) next = std::min(next, tube.pause_end);
  if (tube.is_behind) next = std::min(next, now);
  arm(tube.timer, next);
}

void QueueState::arm_client(Client& client) {
  Instant next = client.activity_.wait_end();
  if (!client.held_.empty()) {
    const Instant first_end = client.held_.first().deadline;
    next = std::min(next, client.is_waiting() ? first_end - kDeadlineMargin : first_end);
  }
  arm(client.timer_, next);
}

}  // namespace haricot
