#include "haricot/queue/job_waits.hpp"

#include <memory>
#include <new>
#include <string_view>

#include "haricot/base/check.hpp"

namespace haricot {

JobWaits::~JobWaits() {
  by_client_.clear([this](Wait* wait) {
    WaitedJob& job = *wait->job;
    job.waits.remove(*wait);
    delete wait;
    free_if_empty(job);
  });
}

// Jobs -----------------------------------------------------------------------------------------

std::uint64_t JobWaits::hash_of_job(JobId id) const {
  return hash_of(hash_key_, std::string_view(reinterpret_cast<const char*>(&id), sizeof id));
}

JobWaits::WaitedJob* JobWaits::find(JobId id) const {
  return by_job_.find(hash_of_job(id), [id](const WaitedJob& job) { return job.id == id; });
}

// Returns null if memory is short.
JobWaits::WaitedJob* JobWaits::find_or_create(JobId id) {
  if (WaitedJob* const found = find(id); found != nullptr) return found;
  std::unique_ptr<WaitedJob> made(new (std::nothrow) WaitedJob{hash_of_job(id), nullptr, id});
  if (made == nullptr || !by_job_.insert(*made)) return nullptr;
  return made.release();
}

void JobWaits::free_if_empty(WaitedJob& job) {
  if (!job.waits.empty()) return;
  if (job.in_ended.linked()) {
    ended_.remove(job);
  } else {
    by_job_.erase(job);
  }
  delete &job;
}

// Waits ------------------------------------------------------------------------------------------

bool JobWaits::begin(Client& client, JobId id, Instant wait_end) {
  std::unique_ptr<Wait> made(new (std::nothrow) Wait{});
  if (made == nullptr) return false;
  WaitedJob* const job = find_or_create(id);
  if (job == nullptr) return false;
  made->hash = static_cast<std::uint64_t>(client.ref());
  made->client = &client;
  made->job = job;
  if (!by_client_.insert(*made)) {
    free_if_empty(*job);
    return false;
  }
  job->waits.push_back(*made.release());
  client.activity().busy_with_ = ClientActivity::BusyWith::end_of_job;
  client.activity().wait_end_ = wait_end;
  ++state_.counts.waiting_for_end;
  state_.arm_client(client);
  return true;
}

JobWaits::Wait& JobWaits::wait_of(const Client& client) const {
  Wait* const wait = by_client_.find(static_cast<std::uint64_t>(client.ref()),
                                     [&](const Wait& one) { return one.client == &client; });
  CHECK(wait != nullptr);
  return *wait;
}

void JobWaits::remove(Wait& wait) {
  WaitedJob& job = *wait.job;
  wait.client->activity().busy_with_ = ClientActivity::BusyWith::nothing;
  wait.client->activity().wait_end_ = Instant::never();
  --state_.counts.waiting_for_end;
  by_client_.erase(wait);
  job.waits.remove(wait);
  delete &wait;
  free_if_empty(job);
}

void JobWaits::drop(Client& client) {
  remove(wait_of(client));
}

JobId JobWaits::job_of(const Client& client) const {
  return wait_of(client).job->id;
}

bool JobWaits::has_ended(const Client& client) const {
  return wait_of(client).job->in_ended.linked();
}

// Ends -------------------------------------------------------------------------------------------

void JobWaits::end(JobId id, Delivery::Kind how) {
  WaitedJob* const job = find(id);
  if (job == nullptr) return;
  by_job_.erase(*job);
  job->how = how;
  ended_.push_back(*job);
  state_.resume_by(state_.now);
}

Delivery JobWaits::take_ended() {
  WaitedJob& job = ended_.front();
  Wait& wait = job.waits.front();
  const Delivery delivery{.client = wait.client, .kind = job.how};
  remove(wait);
  return delivery;
}

}  // namespace haricot
