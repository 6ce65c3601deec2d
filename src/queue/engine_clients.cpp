// The engine's clients: coming and going, tubes that exist because of them, watching and waiting.

#include <memory>
#include <new>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/queue/engine.hpp"

namespace haricot {

bool Engine::open(Client& client) {
  client.ref_ = clients_.add(&client);
  if (client.ref_ == ClientRef{}) return false;
  if (!add_watch(client, *default_tube_)) {
    clients_.drop(client.ref_);
    return false;
  }
  client.used_ = default_tube_;
  ++default_tube_->using_clients;
  ++counts_.clients;
  return true;
}

void Engine::close(Client& client, Instant now) {
  now_ = now;
  if (client.waiting_) end_wait(client);
  if (client.has_task_) leave_task(client);
  std::erase_if(deliveries_, [&](const Delivery& d) { return d.client == &client; });
  wheel_.cancel(client.timer_);

  // Its watches go, and its jobs go back to their tubes: the rest of many in later calls.
  clients_.empty(client.ref_);
  Orphans orphans{std::move(client.reserved_), std::move(client.watches_), std::move(client.index_),
                  client.ref_};
  drop_watches(orphans, budget_);
  --client.used_->using_clients;
  free_if_unreferenced(*client.used_);
  --counts_.clients;
  if (client.producer_) --counts_.producers;
  if (client.worker_) --counts_.workers;

  leave_behind(std::move(orphans), now);
}

// Tubes -----------------------------------------------------------------------------------------

void Engine::free_if_unreferenced(Tube& tube) {
  if (&tube == default_tube_ || tube.is_referenced()) return;
  wheel_.cancel(tube.timer);
  spent_jobs_.forget(tube.ref);
  steps_ += tubes_.destroy(tube);
}

// Watching --------------------------------------------------------------------------------------

bool Engine::add_watch(Client& client, Tube& tube) {
  if (!client.watches_.reserve_one()) return false;
  if (client.weights_ != nullptr && !client.weights_->reserve_one()) return false;
  std::unique_ptr<Watch> made(new (std::nothrow) Watch);
  if (made == nullptr) return false;
  made->client = client.ref_;
  made->tube = &tube;
  made->index = client.watches_.size();
  if (!add_to_index(client, *made)) return false;

  Watch& watch = *made.release();
  client.watches_.push_back(&watch);
  if (client.weights_ != nullptr) client.weights_->add();
  ++tube.watching_clients;
  if (client.has_many_watches()) {
    tube.watchers.push_front(watch);
    ++tube.many_watchers;
    watch.offer = Watch::kNoOffer;
    update_offer(client, watch);
    return true;
  }
  tube.watchers.push_back(watch);
  if (client.watches_.size() >= WatchIndex::kManyFrom) become_many(client);
  return true;
}

// Where the client has come to need an index, or more of it. False: no memory, and nothing has
// changed.
bool Engine::add_to_index(Client& client, Watch& watch) {
  const std::uint32_t watches = client.watches_.size() + 1;
  if (watches < WatchIndex::kIndexedFrom && client.index_ == nullptr) return true;
  if (client.index_ == nullptr) {
    std::unique_ptr<WatchIndex> index(new (std::nothrow) WatchIndex);
    if (index == nullptr) return false;
    for (std::uint32_t i = 0; i < client.watches_.size(); ++i) {
      if (!index->add(*client.watches_[i])) return false;
    }
    steps_ += watches;
    client.index_ = std::move(index);
  }
  if (watches >= WatchIndex::kManyFrom && !client.index_->reserve_offers(watches)) return false;
  return client.index_->add(watch);
}

void Engine::become_many(Client& client) {
  CHECK(!client.waiting_);
  client.index_->many = true;
  for (std::uint32_t i = 0; i < client.watches_.size(); ++i) {
    Watch& watch = *client.watches_[i];
    watch.tube->watchers.remove(watch);
    watch.tube->watchers.push_front(watch);
    ++watch.tube->many_watchers;
    watch.offer = Watch::kNoOffer;
    update_offer(client, watch);
  }
  steps_ += std::uint64_t{client.watches_.size()} * kStepsPerJob;
}

void Engine::become_few(Client& client) {
  CHECK(!client.waiting_);
  client.index_->forget_all_offers();
  client.index_->many = false;
  for (std::uint32_t i = 0; i < client.watches_.size(); ++i) {
    Watch& watch = *client.watches_[i];
    watch.tube->watchers.remove(watch);
    watch.tube->watchers.push_back(watch);
    --watch.tube->many_watchers;
    watch.wait_number = 0;
  }
  steps_ += std::uint64_t{client.watches_.size()} * kStepsPerJob;
}

// The last watch takes the place of the one that goes. (Compat: order of list-tubes-watched.)
void Engine::remove_watch(Client& client, Watch& watch) {
  const bool of_many = client.has_many_watches();
  if (of_many) client.index_->forget_offer(watch);
  if (client.index_ != nullptr) client.index_->remove(watch);
  Watch* last = client.watches_.back();
  client.watches_[watch.index] = last;
  last->index = watch.index;
  client.watches_.pop_back();
  if (client.weights_ != nullptr) client.weights_->remove(watch.index);
  drop_watch(watch, of_many);
  if (of_many && client.watches_.size() <= WatchIndex::kFewAgain) become_few(client);
}

void Engine::drop_watch(Watch& watch, bool of_many) {
  Tube& tube = *watch.tube;
  tube.watchers.remove(watch);
  if (of_many) --tube.many_watchers;
  --tube.watching_clients;
  delete &watch;
  free_if_unreferenced(tube);
}

Watch* Engine::find_watch(const Client& client, Tube& tube) {
  if (client.index_ != nullptr) return client.index_->find(tube);
  for (std::uint32_t i = 0; i < client.watches_.size(); ++i) {
    if (client.watches_[i]->tube == &tube) return client.watches_[i];
  }
  return nullptr;
}

// Waiting ---------------------------------------------------------------------------------------

void Engine::start_waiting(Client& client, Instant wait_end) {
  client.waiting_ = true;
  client.waits_for_batch_ = false;
  client.wait_end_ = wait_end;
  ++counts_.waiting;
  const std::uint64_t number = ++waits_;
  if (client.has_many_watches()) {
    client.index_->wait_number = number;
    ++waiting_with_many_;
  } else {
    for (std::uint32_t i = 0; i < client.watches_.size(); ++i) {
      Watch& watch = *client.watches_[i];
      watch.wait_number = number;
      watch.tube->waiting.push_back(watch);
      ++watch.tube->waiting_clients;
    }
    steps_ += client.watches_.size();
  }
  arm_client(client);
}

void Engine::end_wait(Client& client) {
  client.waiting_ = false;
  client.wait_end_ = Instant::never();
  --counts_.waiting;
  if (client.has_many_watches()) {
    --waiting_with_many_;
    return;
  }
  for (std::uint32_t i = 0; i < client.watches_.size(); ++i) {
    Watch& watch = *client.watches_[i];
    watch.tube->waiting.remove(watch);
    --watch.tube->waiting_clients;
  }
  steps_ += client.watches_.size();
}

// Who has waited on the tube for longest; null if nobody waits there.
Client* Engine::first_waiting(Tube& tube) {
  const Watch* first = tube.waiting.first();
  if (tube.many_watchers > 0 && waiting_with_many_ > 0) [[unlikely]] {
    const std::uint64_t before = first == nullptr ? ~std::uint64_t{0} : first->wait_number;
    if (Client* client = first_of_many_waiting(tube, before); client != nullptr) return client;
  }
  return first == nullptr ? nullptr : clients_[first->client];
}

std::uint32_t Engine::offer_steps(const Tube& tube) const {
  // Who has waited longest; one with many watches costs little in any case.
  const Watch* first = tube.waiting.first();
  return first == nullptr || tube.paused ? 0 : clients_[first->client]->watches_.size();
}

std::uint32_t Engine::offer_steps(JobId id) const {
  const JobRef ref = jobs_.find(id);
  return ref == JobRef::none ? 0 : offer_steps(tubes_[jobs_[ref].tube]);
}

// Of the clients with many watches that have waited on the tube for longer than the one of that
// number, the one that has waited for longest.
Client* Engine::first_of_many_waiting(Tube& tube, std::uint64_t before) {
  Client* found = nullptr;
  const Watch* watch = tube.watchers.first();
  for (std::uint32_t i = 0; i < tube.many_watchers; ++i, watch = tube.watchers.after(*watch)) {
    Client* client = clients_[watch->client];
    if (client == nullptr || !client->waiting_ || client->index_->wait_number >= before) continue;
    before = client->index_->wait_number;
    found = client;
  }
  steps_ += tube.many_watchers;
  return found;
}

std::uint32_t Engine::waiting_clients(const Tube& tube) {
  std::uint32_t waiting = tube.waiting_clients;
  if (waiting_with_many_ == 0) return waiting;
  Tube& same = tubes_[tube.ref];
  const Watch* watch = same.watchers.first();
  for (std::uint32_t i = 0; i < same.many_watchers; ++i, watch = same.watchers.after(*watch)) {
    const Client* client = clients_[watch->client];
    if (client != nullptr && client->waiting_) ++waiting;
  }
  steps_ += same.many_watchers;
  return waiting;
}

// Tells the clients with many watches what the tube offers now. To be called after every change of
// that, when it is known what becomes of the job: one that is handed over at once is never told of.
void Engine::announce_offer_to_many(Tube& tube) {
  Watch* watch = tube.watchers.first();
  for (std::uint32_t i = 0; i < tube.many_watchers; ++i, watch = tube.watchers.after(*watch)) {
    if (Client* client = clients_[watch->client]; client != nullptr) {
      update_offer(*client, *watch);
    }
  }
  steps_ += std::uint64_t{tube.many_watchers} * kStepsPerJob;
}

void Engine::deliver(Client& client, Delivery::Kind kind, JobRef job, std::uint64_t count) {
  CHECK(deliveries_.size() < deliveries_.capacity());
  deliveries_.push_back(Delivery{&client, kind, job, count});
}

bool Engine::is_deadline_soon(const Client& client, Instant now) const {
  return !client.reserved_.empty() && client.reserved_.top().deadline <= now + kDeadlineMargin;
}

}  // namespace haricot
