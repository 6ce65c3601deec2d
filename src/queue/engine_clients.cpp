// The engine's clients: coming and going, tubes that exist because of them, watching and waiting.

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
  if (client.waiting_) end_wait(client);
  if (client.kicking_)
    std::erase_if(kicks_, [&](const LongKick& k) { return k.client == &client; });
  std::erase_if(deliveries_, [&](const Delivery& d) { return d.client == &client; });
  wheel_.cancel(client.timer_);
  while (!client.watches_.empty()) remove_watch(client, *client.watches_.back());
  --client.used_->using_clients;
  free_if_unreferenced(*client.used_);
  --counts_.clients;
  if (client.producer_) --counts_.producers;
  if (client.worker_) --counts_.workers;

  // Its jobs go back to their tubes, the rest of many in later calls.
  clients_.empty(client.ref_);
  std::uint32_t budget = kJobsPerCall;
  Orphans orphans{std::move(client.reserved_), client.ref_};
  give_back(orphans, now, budget);
  if (orphans.jobs.empty()) {
    clients_.drop(client.ref_);
    return;
  }
  try {
    orphans_.push_back(std::move(orphans));
  } catch (const std::bad_alloc&) {
    // No memory to put it off: all at once, then. The vector's strong guarantee left `orphans`
    // whole.
    while (!orphans.jobs.empty()) give_back(orphans, now, budget = kJobsPerCall);
    clients_.drop(client.ref_);
  }
}

// Tubes -----------------------------------------------------------------------------------------

Tube* Engine::find_or_create(std::string_view name) {
  Tube* tube = tubes_.find(name);
  return tube != nullptr ? tube : tubes_.create(name);
}

void Engine::free_if_unreferenced(Tube& tube) {
  if (&tube == default_tube_ || tube.is_referenced()) return;
  wheel_.cancel(tube.timer);
  tubes_.destroy(tube);
}

// Watching --------------------------------------------------------------------------------------

bool Engine::add_watch(Client& client, Tube& tube) {
  if (!client.watches_.reserve_one()) return false;
  auto* watch = new (std::nothrow) Watch;
  if (watch == nullptr) return false;
  watch->client = &client;
  watch->tube = &tube;
  watch->place = client.watches_.size();
  client.watches_.push_back(watch);
  tube.watchers.push_back(*watch);
  ++tube.watching_clients;
  return true;
}

// The last watch takes the place of the one that goes. (Compat: order of list-tubes-watched.)
void Engine::remove_watch(Client& client, Watch& watch) {
  Tube& tube = *watch.tube;
  Watch* last = client.watches_.back();
  client.watches_[watch.place] = last;
  last->place = watch.place;
  client.watches_.pop_back();
  tube.watchers.remove(watch);
  --tube.watching_clients;
  delete &watch;
  free_if_unreferenced(tube);
}

// Looks through the shorter of the two lists that have it: a client may watch thirty thousand
// tubes, and a tube may be watched by thousands of clients.
Watch* Engine::find_watch(const Client& client, Tube& tube) const {
  if (tube.watching_clients < client.watches_.size()) {
    for (Watch* watch = tube.watchers.first(); watch != nullptr;
         watch = tube.watchers.after(*watch)) {
      if (watch->client == &client) return watch;
    }
    return nullptr;
  }
  for (std::uint32_t i = 0; i < client.watches_.size(); ++i) {
    if (client.watches_[i]->tube == &tube) return client.watches_[i];
  }
  return nullptr;
}

// Waiting ---------------------------------------------------------------------------------------

void Engine::start_waiting(Client& client, Instant wait_end) {
  client.waiting_ = true;
  client.wait_end_ = wait_end;
  ++counts_.waiting;
  for (std::uint32_t i = 0; i < client.watches_.size(); ++i) {
    Watch& watch = *client.watches_[i];
    watch.tube->waiting.push_back(watch);
    ++watch.tube->waiting_clients;
  }
  arm_client(client);
}

void Engine::end_wait(Client& client) {
  client.waiting_ = false;
  client.wait_end_ = Instant::never();
  --counts_.waiting;
  for (std::uint32_t i = 0; i < client.watches_.size(); ++i) {
    Watch& watch = *client.watches_[i];
    watch.tube->waiting.remove(watch);
    --watch.tube->waiting_clients;
  }
}

void Engine::deliver(Client& client, Delivery::Kind kind, JobRef job, std::uint64_t kicked) {
  CHECK(deliveries_.size() < deliveries_.capacity());
  deliveries_.push_back(Delivery{&client, kind, job, kicked});
}

bool Engine::is_deadline_soon(const Client& client, Instant now) const {
  return !client.reserved_.empty() && client.reserved_.top().deadline <= now + kDeadlineMargin;
}

}  // namespace haricot
