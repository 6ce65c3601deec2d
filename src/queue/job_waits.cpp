#include "haricot/queue/job_waits.hpp"

#include <memory>
#include <new>
#include <string_view>

#include "haricot/base/check.hpp"

namespace haricot {

JobWaits::~JobWaits() {
  by_client_.clear([this](Wait* wait) {
    Group& group = *wait->group;
    group.waits.remove(*wait);
    delete wait;
    free_if_empty(group);
  });
}

// Groups -----------------------------------------------------------------------------------------

std::uint64_t JobWaits::hash_of_job(JobId id) const {
  return hash_of(hash_key_, std::string_view(reinterpret_cast<const char*>(&id), sizeof id));
}

JobWaits::Group* JobWaits::find_group(JobId id) const {
  return by_job_.find(hash_of_job(id), [id](const Group& group) { return group.id == id; });
}

// Null: no memory.
JobWaits::Group* JobWaits::find_or_create_group(JobId id) {
  if (Group* const found = find_group(id); found != nullptr) return found;
  std::unique_ptr<Group> made(new (std::nothrow) Group{hash_of_job(id), nullptr, id});
  if (made == nullptr || !by_job_.insert(*made)) return nullptr;
  return made.release();
}

void JobWaits::free_if_empty(Group& group) {
  if (!group.waits.empty()) return;
  if (group.in_ended.linked()) {
    ended_.remove(group);
  } else {
    by_job_.erase(group);
  }
  delete &group;
}

// Waits ------------------------------------------------------------------------------------------

bool JobWaits::begin(Client& client, JobId id, Instant wait_end) {
  std::unique_ptr<Wait> made(new (std::nothrow) Wait{});
  if (made == nullptr) return false;
  Group* const group = find_or_create_group(id);
  if (group == nullptr) return false;
  made->hash = static_cast<std::uint64_t>(client.ref_);
  made->client = &client;
  made->group = group;
  if (!by_client_.insert(*made)) {
    free_if_empty(*group);
    return false;
  }
  group->waits.push_back(*made.release());
  client.waits_for_end_ = 1;
  client.wait_end_ = wait_end;
  ++state_.counts.waiting_for_end;
  state_.arm_client(client);
  return true;
}

JobWaits::Wait& JobWaits::wait_of(const Client& client) const {
  Wait* const wait = by_client_.find(static_cast<std::uint64_t>(client.ref_),
                                     [&](const Wait& one) { return one.client == &client; });
  CHECK(wait != nullptr);
  return *wait;
}

void JobWaits::remove(Wait& wait) {
  Group& group = *wait.group;
  wait.client->waits_for_end_ = 0;
  wait.client->wait_end_ = Instant::never();
  --state_.counts.waiting_for_end;
  by_client_.erase(wait);
  group.waits.remove(wait);
  delete &wait;
  free_if_empty(group);
}

void JobWaits::drop(Client& client) {
  remove(wait_of(client));
}

JobId JobWaits::job_of(const Client& client) const {
  return wait_of(client).group->id;
}

bool JobWaits::has_ended(const Client& client) const {
  return wait_of(client).group->in_ended.linked();
}

// Ends -------------------------------------------------------------------------------------------

void JobWaits::end(JobId id, Delivery::Kind how) {
  Group* const group = find_group(id);
  if (group == nullptr) return;
  by_job_.erase(*group);
  group->how = how;
  ended_.push_back(*group);
}

Delivery JobWaits::take_ended() {
  Group& group = ended_.front();
  Wait& wait = group.waits.front();
  const Delivery delivery{.client = wait.client, .kind = group.how};
  remove(wait);
  return delivery;
}

}  // namespace haricot
