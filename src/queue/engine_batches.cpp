// Commands for several jobs.

#include <algorithm>
#include <span>
#include <vector>

#include "haricot/base/check.hpp"
#include "haricot/queue/engine.hpp"

namespace haricot {

Outcome Engine::reserve_batch(Client& client, std::uint32_t count, BatchBound bound,
                              Instant wait_end, Instant now, std::vector<JobRef>& taken) {
  state_.now = now;
  CHECK(!client.is_busy());
  taken.reserve(taken.size() + count);
  backlog_.allocate_delivery();
  mark_worker(client);
  const std::uint64_t before = state_.steps;
  bool is_empty = true;
  for (; count > 0 && state_.steps - before < kStepsPerBatch; --count) {
    if (!Places::allocate_reserved(client)) {
      if (is_empty) return Outcome::out_of_memory;
      break;
    }
    Tube* best = watching_.best_tube(client);
    if (best == nullptr) break;
    const bool fits = bound.fits(bound.context, state_.jobs[best->ready.top().job].body_bytes);
    if (!is_empty && !fits) break;
    taken.push_back(serving_.give(*best, client));
    state_.steps += kStepsPerJob;
    is_empty = false;
  }
  if (!is_empty) return Outcome::done;
  const Outcome end = wait_ends_at_once(client, wait_end);
  if (end != Outcome::waiting) return end;
  watching_.start_waiting(client, wait_end, WaitFor::batch);
  return Outcome::waiting;
}

Outcome Engine::delete_batch(Client& client, std::span<const JobId> ids) {
  CHECK(!client.is_busy());
  return backlog_.delete_batch(client, ids);
}

Outcome Engine::kick(Client& client, std::uint32_t bound, Instant now) {
  state_.now = now;
  CHECK(!client.is_busy());
  return backlog_.kick(client, bound);
}

Outcome Engine::flush(Client& client, std::string_view tube_name, JobStates states) {
  CHECK(!client.is_busy());
  Tube* const tube = state_.tubes.find(tube_name);
  if (tube == nullptr) return Outcome::not_found;
  return backlog_.flush(client, *tube, states);
}

Outcome Engine::watch(Client& client, std::string_view tube, std::uint32_t weight) {
  CHECK(!client.is_busy());
  return backlog_.watch(client, tube, weight);
}

Outcome Engine::touch_all(Client& client, Instant now) {
  state_.now = now;
  CHECK(!client.is_busy());
  return backlog_.touch_all(client);
}

Outcome Engine::set_weighted(Client& client, bool weighted) {
  CHECK(!client.is_busy());
  return backlog_.set_weighted(client, weighted);
}

}  // namespace haricot
