#include "queue/engine_model.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "haricot/base/job_tags.hpp"

namespace haricot::test {
namespace {

constexpr int kNobody = -1;

// Returns the job that passes the filter and is first by `less`.
template <typename Filter, typename Less>
const ModelJob* first_of(const std::map<JobId, ModelJob>& jobs, Filter filter, Less less) {
  const ModelJob* first = nullptr;
  for (const auto& [id, job] : jobs) {
    if (filter(job) && (first == nullptr || less(job, *first))) first = &job;
  }
  return first;
}

bool by_deadline(const ModelJob& a, const ModelJob& b) {
  return a.deadline != b.deadline ? a.deadline < b.deadline : a.arrival < b.arrival;
}

bool by_priority(const ModelJob& a, const ModelJob& b) {
  return a.priority != b.priority ? a.priority < b.priority : a.id < b.id;
}

}  // namespace

// Queries -----------------------------------------------------------------------------------------

ModelTube* Model::find_tube(const std::string& name) {
  for (ModelTube& tube : tubes) {
    if (tube.name == name) return &tube;
  }
  return nullptr;
}

std::vector<const ModelJob*> Model::ready_jobs(const std::string& tube, std::size_t& free) const {
  std::vector<const ModelJob*> ready;
  std::map<std::string, std::uint64_t> taken;  // By lane.
  for (const auto& [id, job] : jobs) {
    if (job.tube != tube) continue;
    if (job.state == JobState::reserved) ++taken[job.lane];
    if (job.state == JobState::ready) ready.push_back(&job);
  }
  const auto less = [](const ModelJob* a, const ModelJob* b) { return by_priority(*a, *b); };
  std::sort(ready.begin(), ready.end(), less);
  const auto is_free = [&](const ModelJob* job) {
    return job->lane.empty() || taken[job->lane]++ < lane_limits.at({tube, job->lane});
  };
  const auto end = std::stable_partition(ready.begin(), ready.end(), is_free);
  free = static_cast<std::size_t>(end - ready.begin());
  return ready;
}

const ModelJob* Model::first_ready(const std::string& tube) const {
  std::size_t free = 0;
  const std::vector<const ModelJob*> ready = ready_jobs(tube, free);
  return ready.empty() ? nullptr : ready.front();
}

const ModelJob* Model::first_free(const std::string& tube) const {
  std::size_t free = 0;
  const std::vector<const ModelJob*> ready = ready_jobs(tube, free);
  return free == 0 ? nullptr : ready.front();
}

const ModelJob* Model::first_delayed(const std::string& tube) const {
  return first_of(
      jobs, [&](const ModelJob& j) { return j.tube == tube && j.state == JobState::delayed; },
      by_deadline);
}

const ModelJob* Model::first_buried(const std::string& tube) const {
  return first_of(
      jobs, [&](const ModelJob& j) { return j.tube == tube && j.state == JobState::buried; },
      [](const ModelJob& a, const ModelJob& b) { return a.grave < b.grave; });
}

const ModelJob* Model::first_ending(int client) const {
  return first_of(
      jobs, [&](const ModelJob& j) { return j.state == JobState::reserved && j.holder == client; },
      by_deadline);
}

std::uint64_t Model::count(const std::string& tube, JobState state) const {
  return static_cast<std::uint64_t>(std::count_if(jobs.begin(), jobs.end(), [&](const auto& entry) {
    return entry.second.tube == tube && entry.second.state == state;
  }));
}

bool Model::holds(int client, JobId id) const {
  const auto found = jobs.find(id);
  return found != jobs.end() && found->second.state == JobState::reserved &&
         found->second.holder == client;
}

int Model::first_waiting(const std::string& tube) const {
  int first = kNobody;
  for (const auto& [number, client] : clients) {
    if (!client.waiting) continue;
    const auto& watched = client.watched;
    if (std::find(watched.begin(), watched.end(), tube) == watched.end()) continue;
    if (first == kNobody || client.arrival < clients.at(first).arrival) first = number;
  }
  return first;
}

// Tubes -------------------------------------------------------------------------------------------

ModelTube& Model::find_or_create(const std::string& name) {
  ModelTube* tube = find_tube(name);
  return tube != nullptr ? *tube : tubes.emplace_back(ModelTube{.name = name});
}

// The last tube takes the index of the removed one.
void Model::drop_if_unreferenced(const std::string& name) {
  if (name == "default") return;
  for (const auto& [id, job] : jobs) {
    if (job.tube == name) return;
  }
  for (const auto& [number, client] : clients) {
    if (client.used == name) return;
    for (const std::string& watched : client.watched) {
      if (watched == name) return;
    }
  }
  *find_tube(name) = tubes.back();
  tubes.pop_back();
}

// Places ------------------------------------------------------------------------------------------

void Model::make_ready(ModelJob& job, Instant now) {
  job.state = JobState::ready;
  offer(job.tube, now);
}

void Model::make_delayed(ModelJob& job, Instant deadline) {
  job.state = JobState::delayed;
  job.deadline = deadline;
  job.arrival = ++deadlines_set;
}

void Model::make_buried(ModelJob& job) {
  job.state = JobState::buried;
  job.grave = ++graves;
}

void Model::make_reserved(int client, ModelJob& job, Instant now) {
  job.state = JobState::reserved;
  job.holder = client;
  job.deadline = now + Duration::seconds(job.ttr_s);
  job.arrival = ++deadlines_set;
  ++job.reserves;
}

void Model::offer(const std::string& tube, Instant now) {
  while (!find_tube(tube)->paused) {
    const ModelJob* job = first_free(tube);
    const int client = first_waiting(tube);
    if (job == nullptr || client == kNobody) return;
    clients[client].waiting = false;
    make_reserved(client, jobs[job->id], now);
    const bool in_batch = clients[client].waits_for_batch;
    deliveries.push_back(
        {client, in_batch ? Delivery::Kind::reserved_in_batch : Delivery::Kind::reserved, job->id});
  }
}

// Commands ----------------------------------------------------------------------------------------

void Model::close(int client, Instant now) {
  std::vector<std::string> left = clients[client].watched;
  std::reverse(left.begin(), left.end());
  left.push_back(clients[client].used);
  // Removes watches one by one, and each tube as soon as nothing refers to it, because the list of
  // tubes shows the order.
  clients[client].waiting = false;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (i + 1 < left.size()) {
      clients[client].watched.pop_back();
    } else {
      clients.erase(client);
    }
    if (find_tube(left[i]) != nullptr) drop_if_unreferenced(left[i]);
  }
  while (const ModelJob* job = first_ending(client)) make_ready(jobs[job->id], now);
}

Outcome Model::put(int client, const NewJob& put, bool refused, Instant now) {
  if (refused) return Outcome::out_of_memory;
  const std::string tube = clients[client].used;
  ModelJob& job = jobs[put.id];
  job.id = put.id;
  job.tube = tube;
  const JobTags tags = tags_in(put.tags);
  job.lane = tags.lane;
  if (!job.lane.empty()) lane_limits[{tube, job.lane}] = tags.lane_limit;
  job.priority = put.priority;
  job.delay_s = put.delay_s;
  job.ttr_s = put.ttr_s == 0 ? 1 : put.ttr_s;
  job.created = now;
  ++find_tube(tube)->total_jobs;
  ++total_jobs;
  if (put.delay_s == 0) {
    make_ready(job, now);
  } else {
    make_delayed(job, now + Duration::seconds(put.delay_s));
    offer(tube, now);  // The limit of its lane may have grown.
  }
  return Outcome::done;
}

void Model::use(int client, const std::string& tube) {
  find_or_create(tube);
  const std::string old = clients[client].used;
  clients[client].used = tube;
  drop_if_unreferenced(old);
}

void Model::watch(int client, const std::string& tube) {
  find_or_create(tube);
  auto& watched = clients[client].watched;
  if (std::find(watched.begin(), watched.end(), tube) == watched.end()) watched.push_back(tube);
}

Outcome Model::ignore(int client, const std::string& tube) {
  auto& watched = clients[client].watched;
  const auto found = std::find(watched.begin(), watched.end(), tube);
  if (found == watched.end()) return Outcome::done;
  if (watched.size() == 1) return Outcome::only_watched;
  *found = watched.back();
  watched.pop_back();
  drop_if_unreferenced(tube);
  return Outcome::done;
}

Outcome Model::reserve(int client, Instant wait_end, Instant now, JobId& reserved) {
  ModelClient& self = clients[client];
  self.worker = true;
  const ModelJob* best = nullptr;
  for (const std::string& tube : self.watched) {
    if (find_tube(tube)->paused) continue;
    const ModelJob* job = first_free(tube);
    if (job != nullptr && (best == nullptr || by_priority(*job, *best))) best = job;
  }
  if (best != nullptr) {
    reserved = best->id;
    make_reserved(client, jobs[best->id], now);
    return Outcome::done;
  }
  const ModelJob* ending = first_ending(client);
  if (ending != nullptr && ending->deadline <= now + Duration::seconds(1)) {
    return Outcome::deadline_soon;
  }
  if (wait_end <= now) return Outcome::timed_out;
  self.waiting = true;
  self.waits_for_batch = false;
  self.wait_end = wait_end;
  self.arrival = ++arrivals;
  return Outcome::waiting;
}

Outcome Model::reserve_job(int client, JobId id, bool refused, Instant now) {
  const auto found = jobs.find(id);
  if (found == jobs.end() || found->second.state == JobState::reserved) return Outcome::not_found;
  clients[client].worker = true;
  if (refused && found->second.state != JobState::ready) return Outcome::journal_failed;
  make_reserved(client, found->second, now);
  return Outcome::done;
}

void Model::time_out(int client) {
  const bool in_batch = clients[client].waits_for_batch;
  clients[client].waiting = false;
  deliveries.push_back(
      {client, in_batch ? Delivery::Kind::reserved_in_batch : Delivery::Kind::timed_out});
}

void Model::stop_waiting(int client) {
  if (!clients[client].waiting) return;
  time_out(client);
}

Outcome Model::delete_job(int client, JobId id, bool refused, Instant now) {
  const auto found = jobs.find(id);
  if (found == jobs.end()) return Outcome::not_found;
  if (found->second.state == JobState::reserved && !holds(client, id)) return Outcome::not_found;
  if (refused) return Outcome::journal_failed;
  const std::string tube = found->second.tube;
  jobs.erase(found);
  ++find_tube(tube)->deletes;
  offer(tube, now);
  drop_if_unreferenced(tube);
  return Outcome::done;
}

Outcome Model::release(int client, JobId id, std::uint32_t priority, std::uint32_t delay_s,
                       bool refused, Instant now) {
  if (!holds(client, id)) return Outcome::not_found;
  if (refused) return Outcome::journal_failed;
  ModelJob& job = jobs[id];
  job.priority = priority;
  job.delay_s = delay_s;
  ++job.releases;
  if (delay_s == 0) {
    make_ready(job, now);
  } else {
    make_delayed(job, now + Duration::seconds(delay_s));
    offer(job.tube, now);
  }
  return Outcome::done;
}

Outcome Model::bury(int client, JobId id, std::uint32_t priority, bool refused, Instant now) {
  if (!holds(client, id)) return Outcome::not_found;
  if (refused) return Outcome::journal_failed;
  ModelJob& job = jobs[id];
  job.priority = priority;
  ++job.buries;
  make_buried(job);
  offer(job.tube, now);
  return Outcome::done;
}

Outcome Model::touch(int client, JobId id, Instant now) {
  if (!holds(client, id)) return Outcome::not_found;
  jobs[id].deadline = now + Duration::seconds(jobs[id].ttr_s);
  jobs[id].arrival = ++deadlines_set;
  return Outcome::done;
}

Outcome Model::kick(int client, std::uint32_t bound, std::uint32_t room_for, Instant now,
                    std::uint64_t& kicked) {
  const std::string tube = clients[client].used;
  const bool of_buried = first_buried(tube) != nullptr;
  kicked = 0;
  while (kicked < bound) {
    const ModelJob* job = of_buried ? first_buried(tube) : first_delayed(tube);
    if (job == nullptr) break;
    if (kicked == room_for) return kicked > 0 ? Outcome::done : Outcome::journal_failed;
    ++jobs[job->id].kicks;
    make_ready(jobs[job->id], now);
    ++kicked;
  }
  return Outcome::done;
}

Outcome Model::kick_job(JobId id, bool refused, Instant now) {
  const auto found = jobs.find(id);
  if (found == jobs.end()) return Outcome::not_found;
  ModelJob& job = found->second;
  if (job.state != JobState::buried && job.state != JobState::delayed) return Outcome::not_found;
  if (refused) return Outcome::journal_failed;
  ++job.kicks;
  make_ready(job, now);
  return Outcome::done;
}

std::vector<JobId> Model::flushed_by(const std::string& tube, JobStates states) const {
  std::vector<JobId> ids;
  for (const auto& [id, job] : jobs) {
    const bool is_in = (job.state == JobState::ready && states.ready) ||
                       (job.state == JobState::delayed && states.delayed) ||
                       (job.state == JobState::buried && states.buried);
    if (job.tube == tube && is_in) ids.push_back(id);
  }
  return ids;
}

void Model::take_away(const std::string& tube, const std::vector<JobId>& ids) {
  for (const JobId id : ids) jobs.erase(id);
  drop_if_unreferenced(tube);
}

Outcome Model::pause(const std::string& name, std::uint32_t seconds, Instant now) {
  ModelTube* tube = find_tube(name);
  if (tube == nullptr) return Outcome::not_found;
  ++tube->pauses;
  tube->paused = seconds > 0;
  tube->pause_s = seconds;
  tube->pause_end = now + Duration::seconds(seconds);
  offer(name, now);
  return Outcome::done;
}

// Time --------------------------------------------------------------------------------------------

std::vector<std::string> Model::due_tubes(Instant now) const {
  std::vector<std::string> due;
  for (const ModelTube& tube : tubes) {
    const ModelJob* delayed = first_delayed(tube.name);
    if ((tube.paused && tube.pause_end <= now) ||
        (delayed != nullptr && delayed->deadline <= now)) {
      due.push_back(tube.name);
    }
  }
  return due;
}

std::vector<int> Model::due_clients(Instant now) const {
  std::vector<int> due;
  for (const auto& [number, client] : clients) {
    const ModelJob* ending = first_ending(number);
    const Duration margin = client.waiting ? Duration::seconds(1) : Duration();
    if ((client.waiting && client.wait_end <= now) ||
        (ending != nullptr && ending->deadline <= now + margin)) {
      due.push_back(number);
    }
  }
  return due;
}

void Model::fire_tube(const std::string& name, Instant now) {
  ModelTube& tube = *find_tube(name);
  if (tube.paused && tube.pause_end <= now) {
    tube.paused = false;
    tube.pause_s = 0;
    offer(name, now);
  }
  for (;;) {
    const ModelJob* job = first_delayed(name);
    if (job == nullptr || job->deadline > now) return;
    make_ready(jobs[job->id], now);
  }
}

void Model::fire_client(int number, Instant now) {
  for (;;) {
    const ModelJob* job = first_ending(number);
    if (job == nullptr || job->deadline > now) break;
    ++jobs[job->id].timeouts;
    ++timeouts;
    make_ready(jobs[job->id], now);
  }
  ModelClient& client = clients[number];
  if (!client.waiting) return;
  const ModelJob* ending = first_ending(number);
  if (ending != nullptr && ending->deadline <= now + Duration::seconds(1)) {
    client.waiting = false;
    deliveries.push_back({number, Delivery::Kind::deadline_soon});
  } else if (client.wait_end <= now) {
    time_out(number);
  }
}

}  // namespace haricot::test
