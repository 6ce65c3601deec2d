#include <algorithm>
#include <utility>

#include "mismatch.hpp"
#include "model.hpp"

// Waits for the end of a job. The answer comes in a later call than that end.

namespace haricot::simulation {

std::string Model::wait_job(int number, const Request& request, Instant now) {
  const ModelJob* job = find_job(request.id);
  if (job == nullptr) return kNotFound;
  if (job->state == JobState::buried) return "BURIED\r\n";
  if (request.seconds == 0) return "TIMED_OUT\r\n";
  ModelClient& client = clients_.at(number);
  client.waits_for_end_of = request.id;
  client.wait_end = now + Duration::seconds(request.seconds);
  if (client.half_closed) stop_job_wait(number);
  return {};
}

// Ends the waits for the job; the answers come soon.
void Model::end_job_waits(JobId id, const char* answer) {
  for (auto& [number, client] : clients_) {
    if (client.waits_for_end_of != id || !client.end_of_job.empty()) continue;
    client.end_of_job = answer;
    has_ended_waits_ = true;
  }
}

void Model::bury_waited_for(const ModelJob& job) {
  for (const auto& [number, client] : clients_) {
    const auto found = jobs_.find(client.waits_for_end_of);
    if (found != jobs_.end() && &found->second == &job) {
      return end_job_waits(found->first, "BURIED\r\n");
    }
  }
}

void Model::stop_job_wait(int number) {
  ModelClient& client = clients_.at(number);
  if (client.waits_for_end_of == 0 || !client.end_of_job.empty()) return;
  client.waits_for_end_of = 0;
  answer(number, "TIMED_OUT\r\n");
}

// If the time of a wait and the job end at the same moment, either may come first.
void Model::time_out_job_waits(const std::vector<Observed>& observed, Instant now) {
  for (const Observed& got : observed) {
    const ModelClient& client = clients_.at(got.client);
    if (client.waits_for_end_of == 0 || got.bytes != "TIMED_OUT\r\n") continue;
    const std::string who = "client " + std::to_string(got.client);
    require(client.wait_end <= now, who + " was told TIMED_OUT too early");
    require(client.end_of_job.empty(), who + " was told TIMED_OUT though its job had ended");
    stop_job_wait(got.client);
  }
}

void Model::check_job_waits(Instant now) const {
  for (const auto& [number, client] : clients_) {
    const bool waits = client.waits_for_end_of != 0 && client.end_of_job.empty();
    require(!waits || client.wait_end > now,
            "client " + std::to_string(number) + " was not told TIMED_OUT");
  }
}

Model::Step Model::tell_ended(const Budget& budget) {
  while (has_ended_waits_) {
    const auto ended = std::find_if(clients_.begin(), clients_.end(), [](const auto& entry) {
      return !entry.second.end_of_job.empty();
    });
    has_ended_waits_ = ended != clients_.end();
    if (!has_ended_waits_) break;
    if (budget.is_used_up()) return Step::continues;
    auto& [number, client] = *ended;
    client.waits_for_end_of = 0;
    answer(number, std::exchange(client.end_of_job, {}));
    steps_ += QueueState::kStepsPerDelivery;
  }
  return Step::waits;
}

}  // namespace haricot::simulation
