// Commands that are about several jobs, and are done at once: their number is bounded.

#include <algorithm>
#include <vector>

#include "haricot/base/check.hpp"
#include "haricot/queue/counted_times.hpp"
#include "haricot/queue/engine.hpp"

namespace haricot {
Outcome Engine::reserve_batch(Client& client, std::uint32_t count, BatchBound bound,
                              Instant wait_end, Instant now, std::vector<JobRef>& taken) {
  now_ = now;
  CHECK(!client.is_busy());
  taken.reserve(taken.size() + count);
  make_room_for_delivery();
  mark_worker(client);
  const std::uint64_t before = steps_;
  bool is_empty = true;
  for (; count > 0 && steps_ - before < kStepsPerBatch; --count) {
    if (!client.reserved_.reserve_one()) {
      if (is_empty) return Outcome::out_of_memory;
      break;
    }
    Tube* best = best_tube(client);
    if (best == nullptr) break;
    const JobRef ref = best->ready.top().job;
    const bool fits = bound.fits(bound.context, jobs_[ref].body_bytes);
    if (!is_empty && !fits) break;
    count_queued(*best, jobs_[ref], now_);
    leave(ref);
    enter_reserved(client, ref, now);
    if (client.is_weighted()) charge(client, *best);
    announce_offer(*best);
    taken.push_back(ref);
    steps_ += kStepsPerJob;
    is_empty = false;
  }
  if (!is_empty) return Outcome::done;
  if (is_deadline_soon(client, now)) return Outcome::deadline_soon;
  if (wait_end <= now) return Outcome::timed_out;
  start_waiting(client, wait_end);
  client.waits_for_batch_ = true;
  return Outcome::waiting;
}

DeleteResult Engine::delete_batch(Client& client, std::span<const JobId> ids) {
  // An id that is named twice is not found the second time.
  std::vector<JobId> sorted(ids.begin(), ids.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::vector<JobRef> refs;
  refs.reserve(sorted.size());
  for (const JobId id : sorted) {
    const JobRef ref = find(id);
    if (ref == JobRef::none) continue;
    const bool is_reserved = jobs_[ref].state() == JobState::reserved;
    if (!is_reserved || held_by(client, id) != JobRef::none) refs.push_back(ref);
  }
  steps_ += ids.size() * 2 + refs.size() * kStepsPerJob;

  const auto deleted = static_cast<std::uint32_t>(refs.size());
  const auto not_found = static_cast<std::uint32_t>(ids.size()) - deleted;
  if (deleted == 0) return {Outcome::done, 0, not_found};
  const std::vector<Tube*> tubes = tubes_with_lanes(refs);
  std::vector<JobRef> remains;
  if (!make_remains(refs, remains)) return {Outcome::out_of_memory};
  const JournalStatus room = journal_.reserve_deletes(deleted, kept_.room_of(remains));
  if (room != JournalStatus::ok) {
    unmake_remains(remains);
    return {room == JournalStatus::later ? Outcome::not_yet : Outcome::journal_failed};
  }
  // A job that is offered meanwhile might be one of those that are to be deleted.
  for (Tube* tube : tubes) ++tube->tasks;
  delete_each(client, refs, remains);
  offer_each(tubes);
  return {Outcome::done, deleted, not_found};
}

}  // namespace haricot
