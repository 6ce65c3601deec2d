#include "haricot/queue/queries.hpp"

#include <algorithm>

#include "haricot/base/check.hpp"
#include "haricot/base/turn_limits.hpp"

namespace haricot {
namespace {

// Appends the jobs of the first `count` entries in order, in O(count log count). The candidates for
// the next entry, which are the children of those already appended, are in a heap of their own.
template <typename Heap>
void add_first(const Heap& heap, std::uint32_t count, std::vector<JobRef>& found) {
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

JobRef Queries::peek_ready(const Client& client) const {
  return client.used().ready.empty() ? JobRef::none : client.used().ready.top().job;
}

JobRef Queries::peek_delayed(const Client& client) const {
  return client.used().delayed.empty() ? JobRef::none : client.used().delayed.top().job;
}

JobRef Queries::peek_buried(const Client& client) const {
  return client.used().first_buried;
}

TubeDetail Queries::detail(const Tube& tube, Instant now) {
  state_.now = now;
  TubeDetail detail = times_.detail(tube);
  const TubeRule* const rule = rules_.of(state_.tubes[tube.ref]);
  if (rule != nullptr) detail.rule = rule->shown;
  return detail;
}

ScanResult Queries::scan(JobId from, std::uint32_t count, const Tube* tube,
                         std::optional<JobState> state, std::vector<JobRef>& found) {
  const std::size_t before = found.size();
  found.reserve(before + count);
  ScanResult result;
  JobRef ref = state_.jobs.first_from(from);
  for (; ref != JobRef::none && count > 0 && result.scanned < kScanned;
       ref = state_.jobs.first_from(state_.jobs[ref].id + 1)) {
    ++result.scanned;
    const Job& job = state_.jobs[ref];
    if (tube != nullptr && job.tube != tube->ref) continue;
    if (state && job.state() != *state) continue;
    if (flushes_.have(ref)) continue;
    found.push_back(ref);
    --count;
  }
  state_.steps +=
      std::uint64_t{result.scanned} * 2 + (found.size() - before) * turn_limits::kStepsPerFoundJob;
  if (ref != JobRef::none) result.next = state_.jobs[ref].id;
  return result;
}

void Queries::list(const Tube& tube, JobState state, std::uint32_t count,
                   std::vector<JobRef>& found) {
  CHECK(state != JobState::reserved);
  const std::size_t before = found.size();
  found.reserve(before + count);
  if (state == JobState::ready) {
    if (lanes_.lanes().size() > 0) {
      lanes_.list_ready(tube, count, found);
    } else {
      add_first(tube.ready, count, found);
    }
  } else if (state == JobState::delayed) {
    add_first(tube.delayed, count, found);
  } else {
    for (JobRef ref = tube.first_buried; ref != JobRef::none && count > 0; --count) {
      found.push_back(ref);
      ref = static_cast<JobRef>(state_.jobs[ref].links.second);
    }
  }
  state_.steps += (found.size() - before) * turn_limits::kStepsPerFoundJob;
}

bool Queries::search_reserved(const Client& asker, const Tube& tube, std::uint32_t count) {
  const auto [place, is_new] = reserved_.try_emplace(asker.ref());
  ReservedSearch& search = place->second;
  if (is_new) search.found.reserve(std::min<std::uint64_t>(count, tube.reserved));
  const Budget budget = state_.budget(turn_limits::kStepsPerPiece);
  for (; search.client < state_.clients.end(); ++search.client, search.left = kAllHeld) {
    if (search.client % kRefsPerStep == 0) ++state_.steps;
    if (budget.is_used_up()) return false;
    const Client* const client = state_.clients[static_cast<ClientRef>(search.client)];
    if (client == nullptr || client->held_jobs() == 0) continue;
    ++state_.steps;
    search.left = std::min(search.left, client->held_jobs());
    while (search.left > 0) {
      if (budget.is_used_up()) return false;
      const DeadlineEntry& entry = client->held().at(--search.left);
      const Job& job = state_.jobs[entry.job];
      state_.steps += turn_limits::kStepsPerNamedJob;
      if (job.tube == tube.ref) search.add({entry.deadline, job.id});
    }
  }
  return true;
}

// Keeps as many jobs as there is room for, the one whose TTR ends last in front.
void Queries::ReservedSearch::add(const Found& job) {
  if (found.size() == found.capacity()) {
    if (found.empty() || !(job < found.front())) return;
    std::pop_heap(found.begin(), found.end());
    found.pop_back();
  }
  found.push_back(job);
  std::push_heap(found.begin(), found.end());
}

// A job may be found twice, have left its holder, or have been touched since it was found.
bool Queries::take_reserved(const Client& asker, const Tube& tube, std::vector<JobRef>& refs) {
  const auto search = reserved_.extract(asker.ref());
  if (search.empty()) return false;
  std::vector<ReservedSearch::Found>& all = search.mapped().found;
  state_.steps += all.size() * turn_limits::kStepsPerFoundJob;
  auto kept = all.begin();
  for (const ReservedSearch::Found& found : all) {
    const JobRef ref = state_.jobs.find(found.id);
    if (ref == JobRef::none || state_.jobs[ref].tube != tube.ref) continue;
    const Job& job = state_.jobs[ref];
    if (job.state() != JobState::reserved) continue;
    const Client* const holder = state_.clients[job.holder()];
    if (holder == nullptr) continue;
    *kept++ = {holder->held().at(job.heap_index()).deadline, found.id};
  }
  all.erase(kept, all.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  refs.reserve(refs.size() + all.size());
  for (const ReservedSearch::Found& job : all) refs.push_back(state_.jobs.find(job.id));
  return true;
}

std::uint64_t Queries::scan_clients(std::uint64_t from, std::uint32_t count,
                                    std::vector<const Client*>& found) {
  const std::size_t before = found.size();
  found.reserve(before + count);
  const std::uint64_t end = state_.clients.end();
  const std::uint64_t begin = std::max<std::uint64_t>(from, 1);
  std::uint64_t ref = begin;
  for (; ref < end && ref - begin < kScanned && found.size() - before < count; ++ref) {
    const Client* const client = state_.clients[static_cast<ClientRef>(ref)];
    if (client != nullptr) found.push_back(client);
  }
  state_.steps += 1 + (std::max(begin, ref) - begin) / kRefsPerStep +
                  (found.size() - before) * turn_limits::kStepsPerFoundClient;
  return ref < end ? ref : 0;
}

std::optional<JobReport> Queries::report(JobId id, Instant now) const {
  const JobRef ref = flushes_.find(id);
  if (ref == JobRef::none) return std::nullopt;
  return report(ref, now);
}

JobReport Queries::report(JobRef ref, Instant now) const {
  const Job& job = state_.jobs[ref];
  const Tube& tube = state_.tubes[job.tube];
  Instant deadline = now;
  std::uint64_t reserved_for_s = 0;
  ClientRef held_by{};
  const bool is_held = state_.jobs.is_held(ref);
  if (job.state() == JobState::delayed && !is_held) {
    deadline = tube.delayed.at(job.heap_index()).deadline;
  }
  if (job.state() == JobState::reserved) {
    const Client* const holder = state_.clients[job.holder()];  // Null: it is gone.
    if (holder != nullptr) {
      const DeadlineEntry& entry = holder->held().at(job.heap_index());
      deadline = entry.deadline;
      reserved_for_s = entry.reserved_for_s(job.ttr_s, now);
      held_by = job.holder();
    }
  }
  const Burial burial = state_.jobs.burial(ref, now);
  return JobReport{.id = job.id,
                   .tube = &tube,
                   .state = job.state(),
                   .priority = job.priority,
                   .delay_s = job.delay_s,
                   .ttr_s = job.ttr_s,
                   .age_s = (now - job.created).whole_seconds(),
                   .time_left_s = (deadline - now).whole_seconds(),
                   .file = state_.journal.file_of(ref),
                   .body_bytes = job.body_bytes,
                   .reserves = state_.jobs.counted(ref, JobEvent::reserve),
                   .timeouts = state_.jobs.counted(ref, JobEvent::timeout),
                   .releases = state_.jobs.counted(ref, JobEvent::release),
                   .buries = state_.jobs.counted(ref, JobEvent::bury),
                   .kicks = state_.jobs.counted(ref, JobEvent::kick),
                   .tags = state_.jobs.tags(ref),
                   .note = state_.jobs.note(ref),
                   .is_held = is_held,
                   .holder = held_by,
                   .reserved_for_s = reserved_for_s,
                   .burial_cause = burial.cause,
                   .buried_s = (now - burial.since).whole_seconds()};
}

}  // namespace haricot
