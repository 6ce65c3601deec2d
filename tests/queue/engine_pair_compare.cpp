// Comparisons of the pair after each step.

#include "queue/engine_pair.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace haricot::test {

std::vector<ModelGot> EnginePair::take() {
  std::vector<ModelGot> got;
  for (const Got& one : world_->take_deliveries()) {
    got.push_back({number_of(one.client), one.kind, one.job});
  }
  return got;
}

void EnginePair::compare_deliveries() {
  ASSERT_EQ(take(), model_.deliveries);
  model_.deliveries.clear();
}

void EnginePair::compare_all() {
  engine().check_invariants();
  compare_counts();
  compare_jobs();
  compare_looks();
  compare_tubes();
  compare_clients();
  compare_journal();
}

void EnginePair::compare_counts() {
  const EngineCounts& counts = engine().counts();
  std::map<JobState, std::uint64_t> states;
  std::uint64_t urgent = 0;
  for (const auto& [id, job] : model_.jobs) {
    ++states[job.state];
    if (job.state == JobState::ready && job.priority < 1024) ++urgent;
  }
  ASSERT_EQ(counts.urgent, urgent);
  ASSERT_EQ(counts.ready, states[JobState::ready]);
  ASSERT_EQ(counts.reserved, states[JobState::reserved]);
  ASSERT_EQ(counts.delayed, states[JobState::delayed]);
  ASSERT_EQ(counts.buried, states[JobState::buried]);
  ASSERT_EQ(counts.timeouts, model_.timeouts);
  ASSERT_EQ(counts.total_jobs, model_.total_jobs);
  std::uint32_t producers = 0;
  std::uint32_t workers = 0;
  std::uint32_t waiting = 0;
  for (const auto& [number, client] : model_.clients) {
    producers += client.producer ? 1 : 0;
    workers += client.worker ? 1 : 0;
    waiting += client.waiting ? 1 : 0;
  }
  ASSERT_EQ(counts.clients, model_.clients.size());
  ASSERT_EQ(counts.producers, producers);
  ASSERT_EQ(counts.workers, workers);
  ASSERT_EQ(counts.waiting, waiting);
}

void EnginePair::compare_jobs() {
  ASSERT_EQ(engine().jobs().size(), model_.jobs.size());
  for (const auto& [id, job] : model_.jobs) {
    const std::optional<JobReport> report = engine().queries().report(id, now());
    ASSERT_TRUE(report.has_value());
    ASSERT_EQ(report->tube->name, job.tube);
    ASSERT_EQ(report->state, job.state) << id;
    ASSERT_EQ(report->priority, job.priority);
    ASSERT_EQ(report->delay_s, job.delay_s);
    ASSERT_EQ(report->ttr_s, job.ttr_s);
    ASSERT_EQ(report->age_s, (now() - job.created).whole_seconds());
    const bool runs = job.state == JobState::delayed || job.state == JobState::reserved;
    ASSERT_EQ(report->time_left_s, runs ? (job.deadline - now()).whole_seconds() : 0);
    ASSERT_EQ(report->reserves, job.reserves);
    ASSERT_EQ(report->timeouts, job.timeouts);
    ASSERT_EQ(report->releases, job.releases);
    ASSERT_EQ(report->buries, job.buries);
    ASSERT_EQ(report->kicks, job.kicks);
  }
}

// Compares one random query of each kind.
void EnginePair::compare_looks() {
  const std::string tube = some_tube();
  const Tube* found = engine().find_tube(tube);
  if (found == nullptr) return;
  const JobId from = random_.below(300);
  const auto count = static_cast<std::uint32_t>(1 + random_.below(6));
  const JobState state = std::array{JobState::ready, JobState::reserved, JobState::delayed,
                                    JobState::buried}[random_.below(4)];
  const bool of_tube = random_.one_in(2);
  const bool of_state = random_.one_in(2);
  std::vector<JobRef> seen;
  const ScanResult result = engine().queries().scan(
      from, count, of_tube ? found : nullptr, of_state ? std::optional(state) : std::nullopt, seen);
  std::vector<JobId> expected;
  auto at = model_.jobs.lower_bound(from);
  for (; at != model_.jobs.end() && expected.size() < count; ++at) {
    if (of_tube && at->second.tube != tube) continue;
    if (of_state && at->second.state != state) continue;
    expected.push_back(at->first);
  }
  ASSERT_EQ(ids_of(seen), expected);
  ASSERT_EQ(result.next, at == model_.jobs.end() ? 0 : at->first);

  if (state == JobState::reserved) return;
  seen.clear();
  engine().queries().list(*found, state, count, seen);
  expected.clear();
  if (state == JobState::ready) {
    std::size_t free = 0;
    for (const ModelJob* job : model_.ready_jobs(tube, free)) {
      if (expected.size() < count) expected.push_back(job->id);
    }
  }
  Model left = model_;
  while (state != JobState::ready && expected.size() < count) {
    const ModelJob* job =
        state == JobState::delayed ? left.first_delayed(tube) : left.first_buried(tube);
    if (job == nullptr) break;
    expected.push_back(job->id);
    left.jobs.erase(expected.back());
  }
  ASSERT_EQ(ids_of(seen), expected);
}

std::vector<JobId> EnginePair::ids_of(const std::vector<JobRef>& refs) const {
  std::vector<JobId> ids;
  for (const JobRef ref : refs) ids.push_back(world_->id_of(ref));
  return ids;
}

void EnginePair::compare_tubes() {
  ASSERT_EQ(engine().tubes().size(), model_.tubes.size());
  for (std::uint32_t i = 0; i < engine().tubes().size(); ++i) {
    const Tube& tube = engine().tubes().at(i);
    const ModelTube& expected = model_.tubes[i];
    ASSERT_EQ(tube.name, expected.name);
    ASSERT_EQ(tube.ready.size(), model_.count(tube.name, JobState::ready));
    ASSERT_EQ(tube.delayed.size(), model_.count(tube.name, JobState::delayed));
    ASSERT_EQ(tube.buried, model_.count(tube.name, JobState::buried));
    ASSERT_EQ(tube.reserved, model_.count(tube.name, JobState::reserved));
    ASSERT_EQ(tube.total_jobs, expected.total_jobs);
    ASSERT_EQ(tube.deletes, expected.deletes);
    ASSERT_EQ(tube.pauses, expected.pauses);
    ASSERT_EQ(tube.paused, expected.paused);
    ASSERT_EQ(tube.pause_s, expected.pause_s);
    if (tube.paused) {
      ASSERT_EQ(tube.pause_end, expected.pause_end);
    }
  }
}

void EnginePair::compare_clients() {
  for (const auto& [number, client] : clients_) {
    const ModelClient& expected = model_.clients.at(number);
    ASSERT_EQ(client->used().name, expected.used);
    ASSERT_EQ(client->is_waiting(), expected.waiting);
    ASSERT_EQ(client->watched_tubes(), expected.watched.size());
    for (std::uint32_t i = 0; i < client->watched_tubes(); ++i) {
      ASSERT_EQ(client->watched(i).name, expected.watched[i]);
    }
    const int holder = number;
    ASSERT_EQ(client->held_jobs(),
              std::count_if(model_.jobs.begin(), model_.jobs.end(), [&](const auto& entry) {
                return entry.second.state == JobState::reserved && entry.second.holder == holder;
              }));
    const auto id_or_0 = [](const ModelJob* job) { return job == nullptr ? JobId{0} : job->id; };
    ASSERT_EQ(world_->id_of(engine().queries().peek_ready(*client)),
              id_or_0(model_.first_ready(expected.used)));
    ASSERT_EQ(world_->id_of(engine().queries().peek_delayed(*client)),
              id_or_0(model_.first_delayed(expected.used)));
    ASSERT_EQ(world_->id_of(engine().queries().peek_buried(*client)),
              id_or_0(model_.first_buried(expected.used)));
  }
}

// A restart from the records so far would have the same jobs with the same fields.
void EnginePair::compare_journal() {
  for (; read_ < world_->journal.written.size(); ++read_) {
    const FakeJournal::Record& record = world_->journal.written[read_];
    const bool is_known = recorded_.count(record.id) != 0;
    ASSERT_EQ(is_known, record.kind != FakeJournal::Kind::put) << record.id;
    if (record.kind == FakeJournal::Kind::deletion) {
      recorded_.erase(record.id);
    } else {
      recorded_.insert_or_assign(record.id, record);
    }
  }
  ASSERT_EQ(recorded_.size(), model_.jobs.size());
  for (const auto& [id, job] : model_.jobs) {
    const FakeJournal::Record& record = recorded_.at(id);
    ASSERT_EQ(record.tube, job.tube);
    ASSERT_EQ(record.priority, job.priority);
    ASSERT_EQ(record.delay_s, job.delay_s);
    ASSERT_EQ(record.ttr_s, job.ttr_s);
    if (job.state == JobState::buried) {
      ASSERT_EQ(record.state, JobState::buried);
    }
    if (job.state == JobState::delayed) {
      ASSERT_EQ(record.state, JobState::delayed);
      ASSERT_EQ(record.deadline, job.deadline);
    }
  }
  ASSERT_FALSE(world_->journal.has_open_room());
}

}  // namespace haricot::test
