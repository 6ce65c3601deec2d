#include "haricot/queue/engine_serializer.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "haricot/queue/burial_runs.hpp"
#include "haricot/queue/state_format.hpp"
#include "haricot/queue/tube_times.hpp"

namespace haricot {

// Writing ----------------------------------------------------------------------------------------

void EngineSerializer::write(StateWriter& to, Bodies bodies) const {
  const TubeTable& tubes = state_.tubes;
  const JobStore& jobs = state_.jobs;
  to.begin(state_format::kEngine);
  to.value(state_format::Engine{.next_id = state_.next_id,
                                .arrivals = state_.arrivals,
                                .timeouts = state_.counts.timeouts,
                                .total_jobs = state_.counts.total_jobs,
                                .refused_puts = state_.counts.refused_puts,
                                .tubes = tubes.size(),
                                .jobs = jobs.size(),
                                .tombstones = jobs.tombstones()});
  for (std::uint32_t i = 0; i < tubes.size(); ++i) write_tube(to, tubes.at(i));
  for (JobRef ref = jobs.first_from(0); ref != JobRef::none;
       ref = jobs.first_from(jobs[ref].id + 1)) {
    write_job(to, ref, bodies);
  }
  for (std::uint32_t i = 0; i < tubes.size(); ++i) write_burials(to, tubes.at(i));
  for (JobRef ref = jobs.first_tombstone_from(0); ref != JobRef::none;
       ref = jobs.first_tombstone_from(jobs[ref].id + 1)) {
    const Tombstone tombstone = keys_.tombstone(ref);
    to.begin(state_format::kTombstone);
    to.value(state_format::Tombstone{.id = tombstone.id,
                                     .tube_name = tombstone.tube_name,
                                     .key = tombstone.key,
                                     .seconds = tombstone.seconds,
                                     .end = tombstone.end});
  }
}

void EngineSerializer::write_tube(StateWriter& to, const Tube& tube) const {
  const TubeTimes* const times = tube.times.get();
  to.begin(state_format::kTube);
  to.value(state_format::Tube{.name = tube.name,
                              .paused = tube.paused,
                              .pause_end = tube.pause_end,
                              .pause_s = tube.pause_s,
                              .total_jobs = tube.total_jobs,
                              .deletes = tube.deletes,
                              .pauses = tube.pauses,
                              .buried_by_tries = state_.spent_jobs.total(tube.ref),
                              .has_times = times != nullptr});
  if (times == nullptr) return;
  to.value(times->period_end);
  times->queued.write(to);
  times->worked.write(to);
}

void EngineSerializer::write_job(StateWriter& to, JobRef ref, Bodies bodies) const {
  const JobStore& jobs = state_.jobs;
  const Job& job = jobs[ref];
  const Tube& tube = state_.tubes[job.tube];
  state_format::Job fields{.id = job.id,
                           .tube = tube.index,
                           .state = job.state(),
                           .created = job.created,
                           .ready_since = job.created,
                           .deadline = job.created,
                           .priority = job.priority,
                           .delay_s = job.delay_s,
                           .ttr_s = job.ttr_s,
                           .body_bytes = job.body_bytes,
                           .tags = jobs.tags(ref),
                           .body = {}};
  if (fields.state == JobState::ready) fields.ready_since = job.ready_since();
  if (fields.state == JobState::delayed) {
    const DeadlineEntry& entry = tube.delayed.at(job.heap_index());
    fields.deadline = entry.deadline;
    fields.arrival = entry.arrival;
    fields.is_held = jobs.is_held(ref);
  }
  for (std::size_t i = 0; i < kJobEvents; ++i) {
    const std::uint64_t counted = jobs.counted(ref, static_cast<JobEvent>(i));
    constexpr std::uint64_t kMax = std::numeric_limits<std::uint32_t>::max();
    fields.counters[i] = static_cast<std::uint32_t>(std::min(counted, kMax));
  }
  if (bodies == Bodies::in_state) fields.body = jobs.body(ref);
  if (const Lane* const lane = lanes_.lanes().lane_of(ref); lane != nullptr) {
    fields.lane_limit = lane->limit;
    fields.lane_limit_from = lane->limit_from;
  }
  to.begin(state_format::kJob);
  to.value(fields);
}

void EngineSerializer::write_burials(StateWriter& to, const Tube& tube) const {
  if (tube.buried == 0) return;
  to.begin(state_format::kBurials);
  to.value(state_format::Burials{.tube = tube.index, .jobs = tube.buried});
  const BurialRuns* const runs = tube.times == nullptr ? nullptr : tube.times->buried.get();
  std::size_t run = 0;
  for (JobRef ref = tube.first_buried; ref != JobRef::none;
       ref = static_cast<JobRef>(state_.jobs[ref].links.second)) {
    state_format::Burial burial{.id = state_.jobs[ref].id};
    burial.ends_run = runs != nullptr && run < runs->size() && runs->at(run).last == ref;
    if (burial.ends_run) {
      burial.since = runs->at(run).since;
      burial.until = runs->at(run).until;
      ++run;
    }
    to.value(burial);
  }
}

void EngineSerializer::write_client(StateWriter& to, const Client& client) const {
  to.begin(state_format::kClient);
  to.value(client.is_producer());
  to.value(client.is_worker());
  to.value(std::string_view(client.used().name));
  to.value(client.watched_tubes());
  for (std::uint32_t i = 0; i < client.watched_tubes(); ++i) {
    to.value(std::string_view(client.watched(i).name));
  }
  to.value(client.watches().weights() != nullptr);
  if (client.watches().weights() != nullptr) client.watches().weights()->write(to);
  to.value(client.held_jobs());
  for (std::uint32_t i = 0; i < client.held_jobs(); ++i) {
    const DeadlineEntry& entry = client.held().at(i);
    to.value(state_format::Hold{
        .id = state_.jobs[entry.job].id, .deadline = entry.deadline, .arrival = entry.arrival});
  }
}

void EngineSerializer::write_waits(StateWriter& to, std::span<const Client* const> clients) const {
  // Number of the wait, index of the client.
  std::vector<std::pair<std::uint64_t, std::uint32_t>> waits;
  for (std::uint32_t i = 0; i < clients.size(); ++i) {
    if (clients[i]->is_waiting()) waits.emplace_back(Watching::wait_number(*clients[i]), i);
  }
  std::sort(waits.begin(), waits.end());
  to.begin(state_format::kWaits);
  to.value(static_cast<std::uint32_t>(waits.size()));
  for (const auto& [number, index] : waits) {
    const Client& client = *clients[index];
    to.value(state_format::Wait{.client = index,
                                .end = client.activity().wait_end(),
                                .waits_for = client.activity().waits_for()});
  }
  if (state_.counts.waiting_for_end > 0) write_job_waits(to, clients);
}

void EngineSerializer::write_job_waits(StateWriter& to,
                                       std::span<const Client* const> clients) const {
  to.begin(state_format::kJobWaits);
  to.value(state_.counts.waiting_for_end);
  for (std::uint32_t i = 0; i < clients.size(); ++i) {
    const Client& client = *clients[i];
    if (!client.is_waiting_for_end()) continue;
    to.value(state_format::JobWait{
        .client = i, .id = job_waits_.job_of(client), .end = client.activity().wait_end()});
  }
}

}  // namespace haricot
