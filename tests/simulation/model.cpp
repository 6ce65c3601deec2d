#include "model.hpp"

#include <algorithm>
#include <utility>

#include "mismatch.hpp"

// Tubes, places, time. Commands are in model_commands.cpp and model_extended.cpp, long tasks in
// model_tasks.cpp, reports in model_reports.cpp.

namespace haricot::simulation {
namespace {

// Maximum part of a budget of jobs that a delivery takes.
constexpr std::uint32_t kJobsPerDelivery =
    QueueState::kStepsPerDelivery / QueueState::kStepsPerJob + 2;

constexpr int kNobody = -1;

template <typename Filter, typename Less>
JobId first_of(const std::map<JobId, ModelJob>& jobs, Filter filter, Less less) {
  auto first = jobs.end();
  for (auto job = jobs.begin(); job != jobs.end(); ++job) {
    if (filter(job->second) && (first == jobs.end() || less(job->second, first->second))) {
      first = job;
    }
  }
  return first == jobs.end() ? 0 : first->first;
}

// Returns true if the job is in that place; flushed jobs are in no place of their tube.
bool is_in(const ModelJob& job, JobState state, const std::string& tube) {
  return job.flush == 0 && job.state == state && job.tube == tube;
}

bool by_deadline(const ModelJob& a, const ModelJob& b) {
  return a.deadline != b.deadline ? a.deadline < b.deadline : a.arrival < b.arrival;
}

// Returns the id after the first RESERVED of an answer; 0: none.
JobId reserved_id(const std::string& answer) {
  constexpr std::string_view kWord = "RESERVED ";
  constexpr std::string_view kBatch = "RESERVED_BATCH 1\r\nRESERVED ";
  if (answer.starts_with(kWord)) return std::stoull(answer.substr(kWord.size()));
  if (answer.starts_with(kBatch)) return std::stoull(answer.substr(kBatch.size()));
  return 0;
}

// Returns the answer to a client whose wait has ended without a result.
std::string end_of_wait(const ModelClient& client) {
  return client.waits_for == WaitFor::batch ? "RESERVED_BATCH 0\r\n" : "TIMED_OUT\r\n";
}

}  // namespace

// Queries -----------------------------------------------------------------------------------------

ModelTube* Model::find_tube(const std::string& name) {
  for (ModelTube& tube : tubes_) {
    if (tube.name == name) return &tube;
  }
  return nullptr;
}

std::vector<JobId> Model::ready_jobs(const std::string& tube, std::size_t& free) const {
  std::vector<JobId> ready;
  std::map<std::string, std::uint64_t> taken;  // By lane.
  for (const auto& [id, job] : jobs_) {
    if (job.state == JobState::reserved && job.tube == tube) ++taken[job.lane];
    if (is_in(job, JobState::ready, tube)) ready.push_back(id);
  }
  std::sort(ready.begin(), ready.end(), [&](JobId one, JobId other) {
    return std::pair(jobs_.at(one).priority, one) < std::pair(jobs_.at(other).priority, other);
  });
  const auto is_free = [&](JobId id) {
    const std::string& lane = jobs_.at(id).lane;
    return lane.empty() || taken[lane]++ < lane_limits_.at({tube, lane});
  };
  const auto end = std::stable_partition(ready.begin(), ready.end(), is_free);
  free = static_cast<std::size_t>(end - ready.begin());
  return ready;
}

std::size_t Model::blocked_jobs(const std::string& tube) const {
  std::size_t free = 0;
  return ready_jobs(tube, free).size() - free;
}

JobId Model::first_ready(const std::string& tube) const {
  std::size_t free = 0;
  const std::vector<JobId> ready = ready_jobs(tube, free);
  return ready.empty() ? 0 : ready.front();
}

JobId Model::first_free(const std::string& tube) const {
  std::size_t free = 0;
  const std::vector<JobId> ready = ready_jobs(tube, free);
  return free == 0 ? 0 : ready.front();
}

// Returns true if the job's lane has room for one more reserved job.
bool Model::may_be_reserved(const ModelJob& job) const {
  if (job.lane.empty()) return true;
  const auto reserved = std::count_if(jobs_.begin(), jobs_.end(), [&](const auto& other) {
    return other.second.state == JobState::reserved && other.second.tube == job.tube &&
           other.second.lane == job.lane;
  });
  return static_cast<std::uint64_t>(reserved) < lane_limits_.at({job.tube, job.lane});
}

JobId Model::first_delayed(const std::string& tube) const {
  return first_of(
      jobs_, [&](const ModelJob& j) { return is_in(j, JobState::delayed, tube); }, by_deadline);
}

JobId Model::first_buried(const std::string& tube) const {
  return first_of(
      jobs_, [&](const ModelJob& j) { return is_in(j, JobState::buried, tube); },
      [](const ModelJob& a, const ModelJob& b) { return a.burial < b.burial; });
}

JobId Model::first_ending(int client) const {
  return first_of(
      jobs_, [&](const ModelJob& j) { return j.state == JobState::reserved && j.holder == client; },
      by_deadline);
}

// Returns null if there is no such job, or a flush has it.
ModelJob* Model::find_job(JobId id) {
  const auto job = jobs_.find(id);
  return job == jobs_.end() || job->second.flush != 0 ? nullptr : &job->second;
}

std::vector<JobId> Model::in_order_of_service(const std::string& tube, JobState state) const {
  std::size_t free = 0;
  if (state == JobState::ready) return ready_jobs(tube, free);
  std::vector<JobId> ids;
  for (const auto& [id, job] : jobs_) {
    if (is_in(job, state, tube)) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end(), [&](JobId one, JobId other) {
    const ModelJob& a = jobs_.at(one);
    const ModelJob& b = jobs_.at(other);
    if (state == JobState::buried) return a.burial < b.burial;
    if (state == JobState::delayed || a.deadline != b.deadline) return by_deadline(a, b);
    return one < other;  // The order in which workers got reserved jobs may be unknown.
  });
  return ids;
}

int Model::first_waiting(const std::string& tube) const {
  int first = kNobody;
  for (const auto& [number, client] : clients_) {
    if (!client.waiting) continue;
    const auto& watched = client.watched;
    if (std::find(watched.begin(), watched.end(), tube) == watched.end()) continue;
    if (first == kNobody || client.arrival < clients_.at(first).arrival) first = number;
  }
  return first;
}

std::uint64_t Model::count(JobState state, const std::string* tube) const {
  return static_cast<std::uint64_t>(std::count_if(jobs_.begin(), jobs_.end(), [&](const auto& j) {
    return j.second.state == state && (tube == nullptr || j.second.tube == *tube);
  }));
}

std::uint64_t Model::count_urgent(const std::string* tube) const {
  return static_cast<std::uint64_t>(std::count_if(jobs_.begin(), jobs_.end(), [&](const auto& j) {
    return j.second.state == JobState::ready && j.second.priority < 1024 &&
           (tube == nullptr || j.second.tube == *tube);
  }));
}

bool Model::holds(int client, JobId id) const {
  const auto job = jobs_.find(id);
  return job != jobs_.end() && job->second.state == JobState::reserved &&
         job->second.holder == client;
}

bool Model::is_deadline_soon(int client, Instant now) const {
  const JobId id = first_ending(client);
  return id != 0 && jobs_.at(id).deadline <= now + Duration::seconds(1);
}

// Tubes -------------------------------------------------------------------------------------------

ModelTube& Model::find_or_create(const std::string& name) {
  ModelTube* tube = find_tube(name);
  if (tube != nullptr) return *tube;
  tubes_.push_back({.name = name, .pause_end = {}});
  return tubes_.back();
}

// The last tube takes the index of the removed one, which the list of tubes shows.
void Model::drop_if_unreferenced(const std::string& name) {
  ModelTube* tube = find_tube(name);
  if (name == "default" || tube == nullptr) return;
  for (const auto& [id, job] : jobs_) {
    if (job.tube == name) return;
  }
  for (const auto& [number, client] : clients_) {
    if (client.used == name) return;
    if (std::find(client.watched.begin(), client.watched.end(), name) != client.watched.end()) {
      return;
    }
  }
  bool has_task = false;
  for_each_task([&](const ModelTask& task) { has_task = has_task || task.tube == name; });
  if (has_task) return;
  *tube = ModelTube(tubes_.back());
  tubes_.pop_back();
}

// Places ------------------------------------------------------------------------------------------

void Model::make_ready(JobId id, Instant now) {
  begin_ready(jobs_.at(id), now);
  offer(jobs_.at(id).tube, now);
}

void Model::make_delayed(ModelJob& job, Instant now) {
  job.state = JobState::delayed;
  job.deadline = now + Duration::seconds(job.delay_s);
  job.arrival = ++deadlines_;
}

void Model::make_reserved(int client, JobId id, Instant now) {
  ModelJob& job = jobs_.at(id);
  end_hold(job);
  if (job.state == JobState::ready) {
    add_length(find_tube(job.tube)->queued, now.count() - job.since.count(), now);
  }
  job.since = now;
  job.reserved_at = now;
  job.is_touched = false;
  job.state = JobState::reserved;
  job.holder = client;
  job.deadline = now + Duration::seconds(job.ttr_s);
  job.arrival = ++deadlines_;
  ++job.counts[static_cast<std::size_t>(JobEvent::reserve)];
}

std::uint32_t Model::offer(const std::string& tube, Instant now) {
  const ModelTube* open = find_tube(tube);
  require(open != nullptr, "there is no tube " + tube);
  std::uint32_t delivered = 0;
  for (; !open->paused; ++delivered) {
    const int client = first_waiting(tube);
    const JobId id = client == kNobody ? 0 : first_free(tube);
    if (id == 0) break;
    clients_.at(client).waiting = false;
    steps_ += clients_.at(client).watched.size() + QueueState::kStepsPerDelivery;
    make_reserved(client, id, now);
    charge(client, tube);
    answer(client, job_of_wait(clients_.at(client), id));
  }
  return delivered;
}

// Clients -----------------------------------------------------------------------------------------

bool Model::can_close(int number) const {
  const auto held = std::count_if(jobs_.begin(), jobs_.end(), [&](const auto& job) {
    return job.second.state == JobState::reserved && job.second.holder == number;
  });
  const std::uint64_t each = (1 + kJobsPerDelivery) * QueueState::kStepsPerJob;
  return static_cast<std::uint64_t>(held) * each <= left_for_calls_;
}

void Model::close(int number, Tape& tape, Instant now) {
  ModelClient& client = clients_.at(number);
  client.waiting = false;
  leave_task(number);
  // Tubes are left one by one, and each is freed as soon as nothing refers to it, because the list
  // of tubes shows the order.
  while (!client.watched.empty()) {
    const std::string tube = client.watched.back();
    client.watched.pop_back();
    drop_if_unreferenced(tube);
  }
  const std::string used = client.used;
  clients_.erase(number);
  drop_if_unreferenced(used);
  call([&](const Budget&) { give_back(number, tape, now); });
}

void Model::half_close(int number) {
  ModelClient& client = clients_.at(number);
  client.half_closed = true;
  stop_job_wait(number);
  if (!std::exchange(client.waiting, false)) return;
  answer(number, end_of_wait(client));
}

// Time --------------------------------------------------------------------------------------------

// Fires all due deadlines. The deliveries to waiting clients are those observed, if these are
// allowed. Afterwards long tasks continue; their deliveries are determined, because a job that was
// not ready before can only come from one of them.
void Model::advance(Instant now, const std::vector<Observed>& all_observed, Tape& tape,
                    const Engine& engine) {
  std::vector<Observed> observed;
  const std::map<JobId, ModelJob> before =
      all_observed.empty() ? std::map<JobId, ModelJob>{} : jobs_;
  time_out_job_waits(all_observed, now);
  std::uint32_t moved = 0;
  std::set<JobId> tries_end;
  for (ModelTube& tube : tubes_) {
    if (!tube.paused || tube.pause_end > now) continue;
    tube.paused = false;
    tube.pause_s = 0;
  }
  for (auto& [id, job] : jobs_) {
    const bool ends = job.state == JobState::delayed || job.state == JobState::reserved;
    if (!ends || job.deadline > now || job.flush != 0) continue;
    ++moved;
    if (job.state == JobState::reserved) {
      ++timeouts_;
      if (counts_tries(job)) {
        tries_end.insert(id);
        continue;
      }
      ++job.counts[static_cast<std::size_t>(JobEvent::timeout)];
    }
    begin_ready(job, now);
  }
  end_tries(tries_end, BurialCause::timed_out, tape, now);
  learn_order(tries_end, engine);
  for (const Observed& got : all_observed) {
    if (!clients_.at(got.client).waiting) continue;
    const JobId id = reserved_id(got.bytes);
    const ModelJob* job = id == 0 ? nullptr : find_job(id);
    const bool is_of_task = id != 0 && (job == nullptr || job->state != JobState::ready);
    if (!is_of_task || !has_tasks()) observed.push_back(got);
  }
  for (const Observed& got : observed) apply_observed(got, now);
  for (const Observed& got : observed) {
    if (const JobId id = reserved_id(got.bytes); id != 0) check_order(got.client, id, before);
  }
  check_rest(now);
  check_job_waits(now);
  moved += static_cast<std::uint32_t>(observed.size()) * kJobsPerDelivery;
  require(moved <= Engine::kJobsPerCall, "the simulation moves more jobs than the model knows of");
  left_for_calls_ = turn_limits::kStepsOfCalls;
  resume_due(now);
  work_on_tasks(Budget(steps_, turn_limits::kStepsOfTasks), tape, now);
}

void Model::apply_observed(const Observed& got, Instant now) {
  ModelClient& client = clients_.at(got.client);
  const std::string who = "client " + std::to_string(got.client) + " ";
  require(client.waiting, who + "got an answer though it does not wait");
  client.waiting = false;
  if (got.bytes == end_of_wait(client)) {
    require(client.wait_end <= now, who + "was told TIMED_OUT too early");
  } else if (got.bytes == "DEADLINE_SOON\r\n") {
    require(is_deadline_soon(got.client, now), who + "was told DEADLINE_SOON without need");
  } else {
    const JobId id = reserved_id(got.bytes);
    require(id != 0, who + "got " + got.bytes.substr(0, 40));
    const ModelJob* job = find_job(id);
    require(job != nullptr && job->state == JobState::ready,
            who + "got a job that is not ready: " + std::to_string(id));
    require(may_be_reserved(*job), who + "got a job of a lane that was full");
    const auto& watched = client.watched;
    require(std::find(watched.begin(), watched.end(), job->tube) != watched.end(),
            who + "got a job of a tube that it does not watch");
    require(!find_tube(job->tube)->paused, who + "got a job of a paused tube");
    make_reserved(got.client, id, now);
    charge(got.client, job->tube);
    answer(got.client, job_of_wait(client, id));
    return;
  }
  answer(got.client, got.bytes);
}

// Checks that no client that has waited longer and no better older job was passed over.
void Model::check_order(int number, JobId id, const std::map<JobId, ModelJob>& before) const {
  const std::string& tube = jobs_.at(id).tube;
  const int waiting = first_waiting(tube);
  require(waiting == kNobody || clients_.at(waiting).arrival > clients_.at(number).arrival,
          "client " + std::to_string(waiting) + " was passed over");
  for (const auto& [other, job] : jobs_) {
    if (!is_in(job, JobState::ready, tube)) continue;
    if (before.at(other).state != JobState::ready) continue;
    const auto& got = jobs_.at(id);
    // Its lane may have been full at that moment.
    if (!job.lane.empty() && job.lane != got.lane) continue;
    require(std::pair(got.priority, id) < std::pair(job.priority, other),
            "job " + std::to_string(other) + " was passed over");
  }
}

// Checks that no client waits for an existing job, or longer than requested.
void Model::check_rest(Instant now) const {
  for (const auto& [number, client] : clients_) {
    if (!client.waiting) continue;
    const std::string who = "client " + std::to_string(number) + " ";
    require(client.wait_end > now, who + "was not told TIMED_OUT");
    require(!is_deadline_soon(number, now), who + "was not told DEADLINE_SOON");
    for (const ModelTube& tube : tubes_) {
      const auto& watched = client.watched;
      if (tube.paused) continue;
      if (std::find(watched.begin(), watched.end(), tube.name) == watched.end()) continue;
      require(first_free(tube.name) == 0, who + "waits though a job is ready");
    }
  }
}

// Restarts ----------------------------------------------------------------------------------------

// The order of tubes, which is that in which files are read, has changed.
void Model::handed_over(const Engine& engine, Instant now) {
  start_ = now;
  draining_ = false;
  refused_again_ = Instant::never();
  left_for_calls_ = turn_limits::kStepsOfCalls;
  for (auto& [number, client] : clients_) {
    for (auto& answer : client.answers) answer.held_until = 0;
  }
  // As at any start: a job restored beside another one with its key owns it if that one is gone.
  keys_.clear();
  for (auto& [id, job] : jobs_) {
    own_key(id);
    job.has_had_note = engine.jobs().has_had_note(engine.peek(id));
  }
  restore_tombstone(engine);
  require(engine.tubes().size() == tubes_.size(), "a tube is gone, or one is new");
  for (std::uint32_t i = 0; i < engine.tubes().size(); ++i) {
    require(engine.tubes().at(i).name == tubes_[i].name, "the tubes are in another order");
  }
  ++hand_overs_;
  refs_end_ = 1;
  for (auto& client : clients_) client.second.ref = 0;
}

void Model::restart(const Engine& engine, const Ledger& ledger, Instant now) {
  jobs_.clear();
  lane_limits_.clear();
  keys_.clear();
  tubes_.clear();
  clients_.clear();
  refused_puts_.clear();
  awaited_.clear();
  others_.clear();
  put_aside_ = begin_always();
  late_burials_.clear();
  left_for_calls_ = turn_limits::kStepsOfCalls;
  verbs_ = {};
  draining_ = has_ended_waits_ = false;
  total_jobs_ = timeouts_ = connections_ = burials_ = hand_overs_ = 0;
  start_ = now;
  refs_end_ = 1;
  next_id_ = engine.next_id();
  // The order of tubes, and of jobs that become ready at the same time, is new.
  for (std::uint32_t i = 0; i < engine.tubes().size(); ++i) {
    tubes_.push_back({.name = std::string(engine.tubes().at(i).name), .pause_end = {}});
  }
  for (const auto& [id, known] : binlog::all_jobs(engine, Duration{})) {
    const JobRef ref = engine.peek(id);
    ModelJob& job = jobs_[id];
    job.tube = known.tube;
    job.body = ledger.body(id);
    job.state = known.state;
    job.priority = known.priority;
    job.delay_s = known.delay_s;
    job.ttr_s = known.ttr_s;
    set_tags(job, known.tags);
    // In the order of the ids: the highest one determines the limit, and owns its key.
    if (!job.lane.empty()) lane_limits_[{job.tube, job.lane}] = job.lane_limit;
    if (!job.key.empty() && holder_of(job.tube, job.key) != 0) ++twins_;
    own_key(id);
    job.created = engine.jobs()[ref].created;
    job.deadline = engine.journaled(ref).deadline;
    job.burial = known.burial;
    job.since = job.created;
    if (job.state == JobState::buried) {
      job.since = engine.burial(ref).since;
      job.burial_cause = known.burial_cause;
    }
    burials_ = std::max(burials_, known.burial);
    job.counts = known.counts;
    job.note = known.note;
    job.has_had_note = engine.jobs().has_had_note(ref);
    if (!job.note.empty()) ++notes_back_;
    job.tries_before = known.tries_before;
    if (job.tries_before > 0) ++backoffs_back_;
    if (job.state == JobState::delayed) {
      const Tube& delayed = *engine.find_tube(job.tube);
      job.arrival = delayed.delayed.at(engine.jobs()[ref].heap_index()).arrival;
      deadlines_ = std::max(deadlines_, job.arrival);
    }
  }
  restore_tombstone(engine);
  restore_holds(engine, now);
}

void Model::compare(Engine& engine, Instant now) const {
  const EngineCounts& counts = engine.counts();
  require(counts.ready == count(JobState::ready), "the number of ready jobs is wrong");
  require(counts.reserved == count(JobState::reserved), "the number of reserved jobs is wrong");
  require(counts.delayed == count(JobState::delayed), "the number of delayed jobs is wrong");
  require(counts.buried == count(JobState::buried), "the number of buried jobs is wrong");
  require(engine.next_id() == next_id_, "the next id is wrong");
  require(engine.tubes().size() == tubes_.size(), "the number of tubes is wrong");
  compare_tombstones(engine, now);
  compare_promises(engine);
  compare_groups(engine);
}

}  // namespace haricot::simulation
