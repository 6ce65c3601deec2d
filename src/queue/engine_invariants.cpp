// Walks over all data of the engine, and ends the program if an invariant is broken.
//
// Tests call this after every step. It recounts all numbers from the places where jobs and clients
// are, and compares them with the maintained numbers.

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "haricot/base/check.hpp"
#include "haricot/base/job_tags.hpp"
#include "haricot/queue/engine.hpp"

namespace haricot {

class Inspection {
 public:
  explicit Inspection(const Engine& engine) : engine_(engine) {}

  void run() {
    for (std::uint32_t i = 0; i < engine_.state_.tubes.size(); ++i) {
      find_clients(engine_.state_.tubes[engine_.state_.tubes.at(i).ref]);
    }
    for (std::uint32_t i = 0; i < engine_.state_.tubes.size(); ++i) {
      check_tube(engine_.state_.tubes[engine_.state_.tubes.at(i).ref], i);
    }
    for (const Client* client : clients_) check_client(*client);
    engine_.backlog_.tasks_.for_each([this](const Backlog::Task& task) { check_task(task); });
    CHECK(always_ == Backlog::kChoreRows);
    check_tubes_of_tasks();
    check_lanes();
    check_keys();
    engine_.groups_.check_invariants();
    check_tombstones();
    CHECK(closed_watches_ == 0);
    CHECK(askers_.size() == awaited_);
    CHECK(engine_.backlog_.tasks_.awaited() == awaited_);
    check_reserved_by_tube();
    check_counts();
  }

 private:
  // Every client watches at least one tube, so the tubes lead to all clients.
  void find_clients(Tube& tube) {
    for (Watch* watch = tube.watchers.first(); watch != nullptr;
         watch = tube.watchers.after(*watch)) {
      Client* const client = engine_.state_.clients[watch->client];
      if (client == nullptr) {
        ++closed_watches_;
      } else {
        clients_.insert(client);
      }
    }
  }

  // A job is in exactly one place, which is that of its state, and its id finds it.
  const Job& check_job(JobRef ref, JobState state) {
    CHECK(ref != JobRef::none);
    const bool is_first = jobs_.insert(ref).second;
    CHECK(is_first);
    const Job& job = engine_.state_.jobs[ref];
    CHECK(engine_.state_.jobs.find(job.id) == ref);
    CHECK(job.state() == state);
    CHECK(job.ttr_s > 0);
    CHECK(job.id < engine_.state_.next_id);
    const std::size_t tag_bytes = JobStore::tag_bytes_of(engine_.state_.jobs.tags(ref));
    job_memory_bytes_ += engine_.state_.jobs.memory_bytes_for(job.body_bytes, tag_bytes);
    if (job.history.has_extra != 0) {
      job_memory_bytes_ += JobStore::memory_bytes_for_note(engine_.state_.jobs.note(ref).size());
    }
    if (engine_.lanes_.has(ref)) {
      LaneCounts& counts = jobs_in_[engine_.lanes_.lanes_.lane_of(ref)];
      ++counts.jobs;
      if (state == JobState::reserved) ++counts.reserved;
    }
    check_key(ref, job);
    if (job.has_tags != 0 && engine_.state_.jobs.leaves_tombstone(ref)) {
      const std::size_t name_bytes = engine_.state_.tubes[job.tube].name.size();
      bytes_to_come_ += engine_.keys_.bytes_more_when_deleted(ref, name_bytes);
    }
    if (engine_.state_.jobs.has_any(ref, kTryTags)) ++with_tries_;
    return job;
  }

  template <typename Heap, typename CheckEntry>
  void check_heap(const Heap& heap, JobState state, CheckEntry check_entry) {
    for (std::uint32_t i = 0; i < heap.size(); ++i) {
      const auto& entry = heap.at(i);
      if (i > 0) CHECK(!(entry < heap.at((i - 1) / 2)));
      const Job& job = check_job(entry.job, state);
      CHECK(job.heap_index() == i);
      check_entry(entry, job);
    }
  }

  void check_tube(Tube& tube, std::uint32_t index) {
    CHECK(tube.index == index);
    CHECK(engine_.state_.tubes.find(tube.name) == &tube);
    CHECK(&tube == engine_.state_.default_tube || tube.is_referenced());
    CHECK(!tube.offers_job() || (tube.waiting.empty() && check_many(tube) == 0));
    CHECK(tube.paused || tube.pause_s == 0);

    std::uint64_t urgent = 0;
    check_heap(tube.ready, JobState::ready, [&](const ReadyEntry& entry, const Job& job) {
      CHECK(job.tube == tube.ref);
      CHECK(entry == ReadyEntry(job.id, job.priority, entry.job, entry.is_blocked()));
      const Lane* lane = engine_.lanes_.lanes_.lane_of(entry.job);
      CHECK(entry.is_blocked() == (lane != nullptr && lane->open != entry.job));
      if (lane != nullptr) ++jobs_in_[lane].ready;
      if (job.is_urgent()) ++urgent;
    });
    check_heap(tube.delayed, JobState::delayed, [&](const DeadlineEntry& entry, const Job& job) {
      CHECK(job.tube == tube.ref);
      const bool is_held = engine_.state_.jobs.is_held(entry.job);
      CHECK(is_held == (entry.deadline == Instant::never()));
    });
    const Flushed flushed = check_flush(tube);
    urgent += flushed.urgent;
    CHECK(tube.urgent == urgent);
    JobRef last = JobRef::none;
    const std::uint64_t buried = check_buried(tube, tube.first_buried, tube.burial_side, last);
    CHECK(last == tube.last_buried);
    CHECK(tube.buried == buried + flushed.buried);

    CHECK(tube.watching_clients == check_watchers(tube));
    CHECK(tube.waiting_clients == check_waiting(tube));
    const auto uses = [&](const Client* client) { return client->used_ == &tube; };
    CHECK(tube.using_clients == std::count_if(clients_.begin(), clients_.end(), uses));

    Instant wanted = Instant::never();
    if (!tube.delayed.empty()) wanted = tube.delayed.top().deadline;
    if (tube.paused) wanted = std::min(wanted, tube.pause_end);
    if (tube.is_behind) wanted = std::min(wanted, engine_.state_.now);
    check_timer(tube.timer, Tube::kTimerKind, &tube, wanted);

    sum_.ready += tube.ready.size() + flushed.ready;
    sum_.urgent += urgent;
    sum_.delayed += tube.delayed.size() + flushed.delayed;
    sum_.buried += tube.buried;
  }

  // A lane has exactly the jobs that refer to it, all in its tube. Its heap has the ready ones,
  // except flushed ones, and the right job is open.
  void check_lanes() {
    CHECK(engine_.lanes_.lanes_.size() == jobs_in_.size());
    std::uint64_t memory_bytes = 0;
    for (const auto& [lane, found] : jobs_in_) {
      memory_bytes += Lanes::memory_bytes_for(lane->key);
      CHECK(engine_.lanes_.lanes_.find(lane->tube, lane->key) == lane);
      CHECK(lane->jobs == found.jobs);
      CHECK(lane->reserved == found.reserved);
      const JobRef top = lane->ready.top();
      const bool is_flushed = top != JobRef::none && engine_.flushes_.have(top);
      const std::uint64_t ready = is_flushed ? 0 : check_lane_heap(*lane, top, JobRef::none);
      CHECK(ready == found.ready && (is_flushed || ready == lane->ready_jobs));
      if (!is_flushed) {
        CHECK(lane->beyond_limit == lane->ready_beyond_limit());
        beyond_limit_in_[lane->tube] += lane->beyond_limit;
        sum_.beyond_limit += lane->beyond_limit;
      }
      CHECK(is_flushed || lane->open == lane->wanted_open());
    }
    CHECK(engine_.lanes_.lanes_.memory_bytes() == memory_bytes);
    for (std::uint32_t i = 0; i < engine_.state_.tubes.size(); ++i) {
      const Tube& tube = engine_.state_.tubes.at(i);
      CHECK(tube.beyond_limit == beyond_limit_in_[tube.ref]);
    }
  }

  // A job owns its key, or another job may own it.
  void check_key(JobRef ref, const Job& job) {
    const std::string_view key = tags_in(engine_.state_.jobs.tags(ref)).unique_key;
    CHECK(engine_.state_.jobs.has(ref, Tag::unique) == !key.empty());
    if (key.empty()) return;
    CHECK(engine_.state_.jobs.key<Tag::unique>(ref) == key);
    const bool is_found = engine_.keys_.owned_.find(job.tube, key).owner == ref;
    CHECK(engine_.keys_.owned_.owns(ref) == is_found);
    if (is_found) ++keys_held_;
  }

  void check_keys() const {
    CHECK(engine_.keys_.owned_.size() == keys_held_);
    CHECK(engine_.keys_.owned_.memory_bytes() == keys_held_ * UniqueKeys::kBytesOfKey);
  }

  // A tombstone has its key, and no job in the tube owns that key.
  void check_tombstones() {
    const JobStore& store = engine_.state_.jobs;
    engine_.keys_.tombstones_.check_invariants();
    CHECK(engine_.keys_.tombstones_.size() == store.tombstones());
    CHECK(engine_.keys_.tombstones_.bytes_to_come() == bytes_to_come_);
    for (JobRef ref = store.first_tombstone_from(0); ref != JobRef::none;
         ref = store.first_tombstone_from(store[ref].id + 1)) {
      CHECK(store[ref].id < engine_.state_.next_id);
      CHECK(store.find(store[ref].id) == JobRef::none);
      const std::size_t tag_bytes = JobStore::tag_bytes_of(store.tags(ref));
      job_memory_bytes_ += store.memory_bytes_for(store.tube_name_of(ref).size(), tag_bytes);
      const Tube* const tube = engine_.state_.tubes.find(store.tube_name_of(ref));
      const std::string_view key = store.key<Tag::unique>(ref);
      CHECK(tube == nullptr || engine_.keys_.owned_.find(tube->ref, key).owner == JobRef::none);
    }
  }

  // O(depth) of the stack: lanes in tests have few jobs.
  std::uint64_t check_lane_heap(const Lane& lane, JobRef ref, JobRef above) {
    if (ref == JobRef::none) return 0;
    const Job& job = engine_.state_.jobs[ref];
    CHECK(engine_.lanes_.lanes_.lane_of(ref) == &lane);
    CHECK(job.state() == JobState::ready && job.tube == lane.tube);
    const HeapLinks<JobRef>& links = engine_.lanes_.lanes_.links(ref);
    CHECK(links.above == above);
    if (above != JobRef::none) {
      const Job& better = engine_.state_.jobs[above];
      CHECK(ReadyEntry(better.id, better.priority, above) < ReadyEntry(job.id, job.priority, ref));
    }
    return 1 + check_lane_heap(lane, links.left, ref) + check_lane_heap(lane, links.right, ref);
  }

  std::uint64_t check_buried(const Tube& tube, JobRef first, bool side, JobRef& before) {
    std::uint64_t found = 0;
    for (JobRef ref = first; ref != JobRef::none; ++found) {
      const Job& job = check_job(ref, JobState::buried);
      CHECK(job.tube == tube.ref);
      CHECK((job.history.burial_side != 0) == side);
      if (engine_.state_.jobs.has_burial(ref)) ++burials_;
      // The job before the first one of a flush was freed.
      CHECK(ref == first || static_cast<JobRef>(job.links.first) == before);
      before = ref;
      ref = static_cast<JobRef>(job.links.second);
    }
    return found;
  }

  // Number of jobs that the flush of a tube has.
  struct Flushed {
    std::uint64_t urgent = 0, ready = 0, delayed = 0, buried = 0;
  };

  Flushed check_flush(const Tube& tube) {
    Flushed found;
    if (tube.flushed == nullptr) return found;
    ++flushes_;
    const FlushedJobs& flushed = *tube.flushed;
    CHECK(!flushed.empty());
    check_heap(flushed.ready, JobState::ready, [&](const ReadyEntry& entry, const Job& job) {
      CHECK(job.tube == tube.ref && engine_.flushes_.have(entry.job));
      if (job.is_urgent()) ++found.urgent;
    });
    check_heap(flushed.delayed, JobState::delayed, [&](const DeadlineEntry& entry, const Job& job) {
      CHECK(job.tube == tube.ref && engine_.flushes_.have(entry.job));
    });
    found.ready = flushed.ready.size();
    found.delayed = flushed.delayed.size();
    JobRef last = JobRef::none;
    found.buried = check_buried(tube, flushed.first_buried, !tube.burial_side, last);
    return found;
  }

  // Checks that the watches of clients with many watches come first. Returns how many of these
  // clients wait on the tube.
  std::uint32_t check_many(Tube& tube) const {
    std::uint32_t index = 0;
    std::uint32_t waiting = 0;
    for (Watch* watch = tube.watchers.first(); watch != nullptr;
         watch = tube.watchers.after(*watch), ++index) {
      const Client* client = engine_.state_.clients[watch->client];
      if (client == nullptr) continue;
      const WatchedTubes& all = client->watches();
      CHECK(all.are_many() == (index < tube.many_watchers));
      if (!all.are_many()) continue;
      if (client->is_waiting()) ++waiting;
      if (watch->index >= all.index()->indexed_watches) continue;
      CHECK(all.index()->is_offer_right(*watch, all.are_weighted() ? all.weights() : nullptr));
    }
    CHECK(tube.many_watchers <= index);
    return waiting;
  }

  std::uint32_t check_watchers(Tube& tube) const {
    std::uint32_t found = 0;
    check_many(tube);
    for (Watch* watch = tube.watchers.first(); watch != nullptr;
         watch = tube.watchers.after(*watch)) {
      CHECK(watch->tube == &tube);
      ++found;
      const Client* client = engine_.state_.clients[watch->client];
      if (client == nullptr) continue;
      CHECK(watch->index < client->watches_.size());
      CHECK(&client->watches_[watch->index] == watch);
      if (client->watches_.are_many()) continue;
      CHECK(watch->waiting.linked() == client->is_waiting());
    }
    return found;
  }

  std::uint32_t check_waiting(Tube& tube) const {
    std::uint32_t found = 0;
    std::uint64_t before = 0;
    for (Watch* watch = tube.waiting.first(); watch != nullptr;
         watch = tube.waiting.after(*watch)) {
      CHECK(watch->tube == &tube);
      CHECK(engine_.state_.clients[watch->client]->is_waiting());
      CHECK(watch->wait_number > before && watch->wait_number <= engine_.watching_.waits_);
      before = watch->wait_number;
      ++found;
    }
    return found;
  }

  void check_client(const Client& client) {
    CHECK(engine_.state_.clients[client.ref_] == &client);
    CHECK(engine_.state_.tubes.find(client.used_->name) == client.used_);
    CHECK(!client.activity_.is_touching_all() || client.activity_.is_task());
    CHECK(client.is_busy() || client.activity_.wait_end() == Instant::never());
    if (client.is_waiting_for_end()) check_job_wait(client);
    std::unordered_set<const Tube*> watched;
    for (std::uint32_t i = 0; i < client.watches_.size(); ++i) {
      CHECK(client.watches_[i].client == client.ref_);
      CHECK(client.watches_[i].in_tube.linked());
      const bool is_first = watched.insert(client.watches_[i].tube).second;
      CHECK(is_first);
    }
    CHECK(!watched.empty());
    const WatchWeights* weights = client.watches_.weights();
    CHECK(weights == nullptr || weights->size() == client.watches_.size());
    check_index(client);

    check_heap(client.held_.heap(), JobState::reserved, [&](const DeadlineEntry&, const Job& job) {
      CHECK(job.holder() == client.ref_);
      ++reserved_in_[job.tube];
    });
    Instant wanted = client.activity_.wait_end();
    if (!client.held_.empty()) {
      const Instant first_end = client.held_.first().deadline;
      wanted = std::min(wanted,
                        client.is_waiting() ? first_end - QueueState::kDeadlineMargin : first_end);
    }
    check_timer(client.timer_, Client::kTimerKind, &client, wanted);

    sum_.reserved += client.held_.size();
    ++sum_.clients;
    if (client.producer_) ++sum_.producers;
    if (client.worker_) ++sum_.workers;
    if (client.is_waiting()) ++sum_.waiting;
    if (client.activity_.is_task()) ++awaited_;
    if (client.is_waiting_for_end()) ++sum_.waiting_for_end;
  }

  // A client that waits for the end of a job waits for one that exists and is not buried, unless
  // the job has ended.
  void check_job_wait(const Client& client) {
    const JobWaits& waits = engine_.job_waits_;
    if (waits.has_ended(client)) return;
    const JobRef ref = engine_.state_.jobs.find(waits.job_of(client));
    CHECK(ref != JobRef::none);
    const bool is_flushed = engine_.flushes_.find(waits.job_of(client)) == JobRef::none;
    CHECK(is_flushed || engine_.state_.jobs[ref].state() != JobState::buried);
  }

  void check_index(const Client& client) {
    if (client.watches_.index() == nullptr) {
      CHECK(client.watches_.size() < WatchIndex::kIndexedFrom);
      return;
    }
    const WatchIndex& index = *client.watches_.index();
    CHECK(index.size() == client.watches_.size());
    CHECK(index.many || client.watches_.size() < WatchIndex::kManyFrom);
    CHECK(index.indexed_watches == WatchIndex::kAllWatches || client.activity_.is_task());
    CHECK(!index.many || client.watches_.size() > WatchIndex::kFewAgain);
    std::uint32_t offers = 0;
    for (std::uint32_t i = 0; i < client.watches_.size(); ++i) {
      CHECK(index.find(*client.watches_[i].tube) == &client.watches_[i]);
      if (index.many && client.watches_[i].offer != Watch::kNoOffer) ++offers;
    }
    CHECK(index.offers() == offers);
    if (index.many) ++clients_with_many_;
    if (index.many && client.is_waiting()) ++waiting_with_many_;
  }

  void check_closed_client(const tasks::ClosedClient& closed) {
    CHECK(!closed.empty());
    for (std::uint32_t i = 0; i < closed.watches.size(); ++i) {
      CHECK(closed.watches[i]->client == closed.holder);
      CHECK(!closed.watches[i]->waiting.linked() || closed.index->many);
      --closed_watches_;
    }
    CHECK(engine_.state_.clients[closed.holder] == nullptr);
    check_heap(closed.jobs, JobState::reserved, [&](const DeadlineEntry&, const Job& job) {
      CHECK(job.holder() == closed.holder);
      ++reserved_in_[job.tube];
    });
    sum_.reserved += closed.jobs.size();
  }

  void check_task(const Backlog::Task& task) {
    if (task.client != nullptr) {
      const bool is_first = askers_.insert(task.client).second;
      CHECK(is_first);
      CHECK(clients_.count(task.client) == 1);
      CHECK(task.client->activity_.is_task());
    }
    if (task.tube != nullptr) ++tasks_of_[task.tube];
    std::visit([this](const auto& work) { check_work(work); }, task.work);
  }

  void check_work(const tasks::ClosedClient& closed) { check_closed_client(closed); }
  void check_work(const tasks::Kick& kick) { CHECK(kick.left > 0); }
  void check_work(const tasks::TouchAll& touch) { CHECK(touch.left > 0); }
  void check_work(const tasks::Flush& flush) {
    if (flush.has_begun()) ++flushes_begun_;
  }

  void check_work(const tasks::DeleteBatch& batch) {
    CHECK(batch.next < batch.ids.size() && batch.deleted < batch.asked);
  }

  void check_work(const tasks::ModeChange& change) {
    CHECK(!change.is_begun || change.made == nullptr);
  }

  void check_work(const tasks::WeightedWatch& watch) { CHECK(watch.weight > 0); }

  void check_work(const tasks::Permanent&) { ++always_; }

  void check_tubes_of_tasks() {
    for (std::uint32_t i = 0; i < engine_.state_.tubes.size(); ++i) {
      const Tube& tube = engine_.state_.tubes.at(i);
      const auto found = tasks_of_.find(&tube);
      CHECK(!tube.is_to_be_served);
      CHECK(tube.tasks == (found == tasks_of_.end() ? 0 : found->second));
    }
  }

  void check_reserved_by_tube() const {
    for (std::uint32_t i = 0; i < engine_.state_.tubes.size(); ++i) {
      const Tube& tube = engine_.state_.tubes.at(i);
      const auto found = reserved_in_.find(tube.ref);
      CHECK(tube.reserved == (found == reserved_in_.end() ? 0 : found->second));
      CHECK(tube.ready.capacity() >= tube.ready.size() + tube.reserved);
    }
  }

  void check_counts() const {
    const EngineCounts& counts = engine_.state_.counts;
    const BurialTimes& burials = engine_.state_.jobs.burials();
    CHECK(burials.size() == burials_);
    CHECK(engine_.state_.jobs.memory_bytes() == job_memory_bytes_ + burials.memory_bytes());
    CHECK(engine_.memory().used_bytes() ==
          engine_.state_.jobs.memory_bytes() + engine_.lanes_.lanes_.memory_bytes() +
              engine_.keys_.memory_bytes() + engine_.groups_.memory_bytes());
    CHECK(counts.urgent == sum_.urgent);
    CHECK(counts.ready == sum_.ready);
    CHECK(counts.reserved == sum_.reserved);
    CHECK(counts.delayed == sum_.delayed);
    CHECK(counts.buried == sum_.buried);
    CHECK(counts.beyond_limit == sum_.beyond_limit);
    CHECK(engine_.state_.jobs.with_tries() == with_tries_);
    CHECK(counts.clients == sum_.clients);
    CHECK(counts.producers == sum_.producers);
    CHECK(counts.workers == sum_.workers);
    CHECK(counts.waiting == sum_.waiting);
    CHECK(counts.waiting_for_end == sum_.waiting_for_end);
    CHECK(engine_.job_waits_.by_client_.size() == sum_.waiting_for_end);
    CHECK(engine_.watching_.clients_with_many_ == clients_with_many_);
    CHECK(engine_.watching_.waiting_with_many_ == waiting_with_many_);
    CHECK(engine_.flushes_.size() == flushes_ && flushes_begun_ == flushes_);
    CHECK(jobs_.size() == engine_.state_.jobs.size());
    // Delivering must not allocate.
    CHECK(engine_.watching_.deliveries_.capacity() >=
          engine_.watching_.deliveries_.size() + sum_.waiting + sum_.waiting_for_end + awaited_);
  }

  // A timer may fire too early, but not too late.
  static void check_timer(const Timer& timer, std::uint8_t kind, const void* owner,
                          Instant wanted) {
    CHECK(timer.kind() == kind);
    CHECK(timer.owner() == owner);
    CHECK(wanted == Instant::never() || timer.is_set());
    CHECK(timer.deadline() <= wanted);
  }

  const Engine& engine_;
  std::unordered_set<Client*> clients_;
  std::unordered_set<JobRef> jobs_;
  std::uint64_t with_tries_ = 0;
  std::uint64_t keys_held_ = 0;
  std::uint64_t bytes_to_come_ = 0;
  std::unordered_map<TubeRef, std::uint64_t> reserved_in_;
  struct LaneCounts {
    std::uint64_t jobs = 0, reserved = 0, ready = 0;
  };
  std::unordered_map<const Lane*, LaneCounts> jobs_in_;
  std::unordered_map<TubeRef, std::uint64_t> beyond_limit_in_;
  EngineCounts sum_;
  std::uint64_t job_memory_bytes_ = 0;
  std::uint64_t burials_ = 0;  // Buried jobs with the time of their burial.
  std::uint32_t awaited_ = 0;
  std::unordered_set<const Client*> askers_;
  std::unordered_map<const Tube*, std::uint32_t> tasks_of_;
  std::uint32_t always_ = 0;  // Permanent tasks.
  std::uint64_t closed_watches_ = 0;
  std::uint32_t flushes_ = 0;        // Counted by tubes.
  std::uint32_t flushes_begun_ = 0;  // Counted by tasks.
  std::uint32_t clients_with_many_ = 0;
  std::uint32_t waiting_with_many_ = 0;
};

void Engine::check_invariants() const {
  Inspection(*this).run();
}

}  // namespace haricot
