#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "mismatch.hpp"
#include "model.hpp"

// Commands that beanstalkd does not have. Those that may be long are in model_tasks.cpp.

namespace haricot::simulation {
namespace {

// Limits of an answer: RESERVED, two numbers of 20 and 10 digits, blanks and two line ends around
// each body, and the bodies. Bodies from this size on are not copied.
constexpr std::size_t kBytesAroundBody = 44;
constexpr std::size_t kReferredBodyBytes = 4096;
constexpr std::size_t kCopiedBytesMax = 48 * 1024;
constexpr std::size_t kBatchBytesMax = 1024 * 1024;

// Number of jobs that a scan visits.
constexpr std::uint32_t kScanned = 1000;

bool is_in_state(const ModelJob& job, StateWord state) {
  switch (state) {
    case StateWord::none:
      return true;
    case StateWord::ready:
      return job.state == JobState::ready;
    case StateWord::reserved:
      return job.state == JobState::reserved;
    case StateWord::delayed:
      return job.state == JobState::delayed;
    case StateWord::buried:
      return job.state == JobState::buried;
  }
  return false;
}

}  // namespace

std::string Model::capabilities(int number) const {
  std::string text =
      "---\n- flush-tube\n- scan-jobs\n- list-jobs\n- stats-tube-detail\n- stats-tubes\n"
      "- reserve-batch\n- delete-batch\n- watch\n- reserve-mode\n";
  if (clients_.at(number).commands == CommandSet::operators) text += "- drain\n- undrain\n";
  text +=
      "- flush-buried\n- touch-all\n- reserve-with-abort\n- stats-group\n- wait-job\n- "
      "list-clients\n- note\n- peek-note\n- try\n- "
      "con\n- idp\n- "
      "grp\n- aft\n- back\n";
  return "OK " + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

// A flushed job is visited, but not shown.
std::string Model::scan_jobs(const Request& request, Tape& tape, Instant now) {
  std::vector<JobId> found;
  JobId next = 0;
  std::uint32_t scanned = 0;
  const bool has_tube = request.tube.empty() || find_tube(request.tube) != nullptr;
  for (auto job = jobs_.lower_bound(request.id); has_tube && job != jobs_.end(); ++job) {
    if (found.size() == request.bound || scanned == kScanned) {
      next = job->first;
      break;
    }
    ++scanned;
    const bool fits = job->second.flush == 0 && is_in_state(job->second, request.state) &&
                      (request.tube.empty() || job->second.tube == request.tube);
    if (fits) found.push_back(job->first);
  }
  return listed("next: " + std::to_string(next) + "\n", found, tape, now);
}

std::string Model::list_jobs(const Request& request, Tape& tape, Instant now) {
  if (find_tube(request.tube) == nullptr) return kNotFound;
  const JobState state = request.state == StateWord::ready      ? JobState::ready
                         : request.state == StateWord::reserved ? JobState::reserved
                         : request.state == StateWord::delayed  ? JobState::delayed
                                                                : JobState::buried;
  std::vector<JobId> ids = in_order_of_service(request.tube, state);
  ids.resize(std::min<std::size_t>(ids.size(), request.bound));
  return listed("", ids, tape, now);
}

std::string Model::reserve_batch(int number, const Request& request, Instant now) {
  ModelClient& client = clients_.at(number);
  client.worker = true;
  std::string text;
  std::uint32_t taken = 0;
  std::size_t copied = 0;
  std::size_t all = 0;
  for (; taken < request.bound; ++taken) {
    const JobId best = best_job(number);
    if (best == 0) break;
    const std::size_t bytes = jobs_.at(best).body.size();
    copied += kBytesAroundBody + (bytes < kReferredBodyBytes ? bytes : 0);
    all += kBytesAroundBody + bytes;
    if (taken > 0 && (copied > kCopiedBytesMax || all > kBatchBytesMax)) break;
    make_reserved(number, best, now);
    charge(number, jobs_.at(best).tube);
    text += with_job("RESERVED", best);
  }
  if (taken > 0) return "RESERVED_BATCH " + std::to_string(taken) + "\r\n" + text;
  if (is_deadline_soon(number, now)) return "DEADLINE_SOON\r\n";
  if (!request.has_timeout || request.seconds == 0) return "RESERVED_BATCH 0\r\n";
  client.waiting = true;
  client.waits_for = WaitFor::batch;
  client.wait_end = now + Duration::seconds(request.seconds);
  client.arrival = ++arrivals_;
  return {};
}

std::string Model::job_of_wait(const ModelClient& client, JobId id) {
  const bool is_batch = client.waits_for == WaitFor::batch;
  return (is_batch ? "RESERVED_BATCH 1\r\n" : "") + with_job("RESERVED", id);
}

void Model::abort_wait(int number) {
  clients_.at(number).waiting = false;
  answer(number, "ABORTED\r\n");
}

// Weights -----------------------------------------------------------------------------------------

std::string Model::watch_by_weight(int number, const Request& request) {
  ++verbs_[static_cast<std::size_t>(Verb::watch)];
  std::string text = watch(number, request.tube);
  // The rest until the tube's turn has the old weight.
  ModelClient& client = clients_.at(number);
  const std::uint64_t turn = pass_of(number, request.tube);
  ModelShare& share = client.shares[request.tube];
  share.pass = client.turn + (turn - client.turn) * share.weight / request.bound;
  share.weight = request.bound;
  return text;
}

std::string Model::reserve_mode(int number, const Request& request) {
  clients_.at(number).is_weighted = request.is_weighted;
  return request.is_weighted ? "USING weighted\r\n" : "USING fifo\r\n";
}

// Returns when it is the turn of the tube. A tube without offers has not saved up turns.
std::uint64_t Model::pass_of(int number, const std::string& tube) const {
  const ModelClient& client = clients_.at(number);
  const auto found = client.shares.find(tube);
  return std::max(client.turn, found == client.shares.end() ? 0 : found->second.pass);
}

JobId Model::best_by_weight(int number) const {
  JobId best = 0;
  std::uint64_t best_pass = 0;
  for (const std::string& tube : clients_.at(number).watched) {
    const auto is_it = [&](const ModelTube& other) { return other.name == tube; };
    const bool paused = std::find_if(tubes_.begin(), tubes_.end(), is_it)->paused;
    const JobId id = paused ? 0 : first_free(tube);
    if (id == 0) continue;
    const std::uint64_t pass = pass_of(number, tube);
    if (best != 0 && pass >= best_pass) continue;
    best = id;
    best_pass = pass;
  }
  return best;
}

// Charges a job to the tube. With twice the weight it is the tube's turn again in half the time.
void Model::charge(int number, const std::string& tube) {
  ModelClient& client = clients_.at(number);
  if (!client.is_weighted) return;
  constexpr std::uint64_t kTurnOfWeightOne = 16'777'216;
  client.turn = pass_of(number, tube);
  ModelShare& share = client.shares[tube];
  share.pass = client.turn + kTurnOfWeightOne / share.weight;
}

std::string Model::delete_batch(int number, const Request& request, Tape& tape, Instant now) {
  ModelTask batch{.number = ++last_task_,
                  .client = number,
                  .tube = {},
                  .is_flush = false,
                  .ids = request.ids,
                  .ids_left = {request.ids.begin(), request.ids.end()}};
  Step outcome = Step::continues;
  call([&](const Budget&) {
    outcome = delete_some(batch, Budget(steps_, turn_limits::kStepsOfBatch), tape, now);
  });
  const std::string text = to_answer(batch);
  if (outcome == Step::continues || outcome == Step::waits) {
    ++task_turns_;
    (outcome == Step::waits ? put_aside_ : awaited_).push_back(std::move(batch));
  }
  end_holds(tape, now);
  if (outcome == Step::failed) return kInternalError;
  return outcome == Step::done ? text : std::string();
}

std::string Model::to_answer(const ModelTask& batch) {
  return "DELETED_BATCH " + std::to_string(batch.done) + " " +
         std::to_string(batch.ids.size() - batch.done) + "\r\n";
}

// Plans the deletions of the next piece in the order of the ids, and removes them from the rest: as
// many as the budget allows, with the tubes to serve.
std::vector<JobId> Model::plan_deletions(ModelTask& batch, const Budget& budget) {
  std::vector<JobId> planned;
  std::set<std::string> offered;
  std::uint64_t price = 0;
  for (bool is_first = true; !batch.ids_left.empty(); is_first = false) {
    if (!is_first && price >= budget.left()) break;
    price += turn_limits::kStepsPerNamedJob;
    const JobId id = *batch.ids_left.begin();
    batch.ids_left.erase(batch.ids_left.begin());
    const ModelJob* job = find_job(id);
    if (job == nullptr) continue;
    if (job->state == JobState::reserved && !holds(batch.client, id)) continue;
    planned.push_back(id);
    price += QueueState::kStepsPerJob;
    if (!job->lane.empty() && offered.insert(job->tube).second) {
      price += QueueState::kStepsPerDelivery;
    }
  }
  return planned;
}

// Deletes all jobs of a piece at once, or those for which the disk has room, according to the tape.
Model::Step Model::delete_some(ModelTask& batch, const Budget& budget, Tape& tape, Instant now) {
  const std::set<JobId> ids_left = batch.ids_left;
  std::vector<JobId> left = plan_deletions(batch, budget);
  steps_ += (ids_left.size() - batch.ids_left.size()) * turn_limits::kStepsPerNamedJob +
            left.size() * QueueState::kStepsPerJob;
  for (const JobId id : left) steps_ += leaves_key(id) ? QueueState::kStepsPerJob : 0;
  // Tubes with lanes are freed after all others, in the order in which they are served, each once.
  std::vector<std::string> tubes;
  for (const JobId id : left) {
    const ModelJob& job = jobs_.at(id);
    const bool is_new = std::find(tubes.begin(), tubes.end(), job.tube) == tubes.end();
    if (!job.lane.empty() && is_new) tubes.push_back(job.tube);
  }
  JournalStatus status = JournalStatus::ok;
  bool is_begun = false;
  for (std::size_t together = left.size(); !left.empty();) {
    together = std::min(together, left.size());
    const auto end = left.begin() + static_cast<std::ptrdiff_t>(together);
    const std::set<JobId> part(left.begin(), end);
    status = take_room_to_delete(part, tape);
    if (status == JournalStatus::full && together > 1) {
      together /= 2;
      continue;
    }
    if (status != JournalStatus::ok) break;
    is_begun = true;
    left.erase(left.begin(), end);
    batch.done += part.size();
    for (const JobId id : part) {
      record_deletion(id, tape, now);
      const std::string tube = jobs_.at(id).tube;
      count_worked(jobs_.at(id), now);
      erase_job(id);
      ++find_tube(tube)->deletes;
      if (std::find(tubes.begin(), tubes.end(), tube) == tubes.end()) drop_if_unreferenced(tube);
    }
  }
  if (!is_begun) tubes.clear();
  for (const std::string& tube : tubes) steps_ += offer(tube, now) * QueueState::kStepsPerJob;
  for (const std::string& tube : tubes) drop_if_unreferenced(tube);
  resume_end_of_holds();
  if (status == JournalStatus::later) {
    batch.ids_left = {ids_left.find(left.front()), ids_left.end()};
    return Step::waits;
  }
  if (status != JournalStatus::ok) return Step::failed;
  return batch.ids_left.empty() ? Step::done : Step::continues;
}

// Complete puts may have been refused before this, or be accepted after it, according to the tape
// or the answer.
std::string Model::undrain() {
  for (auto& [number, client] : clients_) {
    if (!client.put_is_open || client.put.end > client.bytes_read) continue;
    client.may_be_drained = client.may_be_drained || draining_;
  }
  draining_ = false;
  return "NOT_DRAINING\r\n";
}

}  // namespace haricot::simulation
