#include "haricot/queue/watching.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "haricot/base/check.hpp"

namespace haricot {
namespace {

// Reserves capacity like reserve(), but at least doubles it, however often it is called.
template <typename T>
void grow_vector(std::vector<T>& vector, std::size_t wanted) {
  if (vector.capacity() < wanted) vector.reserve(std::max(wanted, 2 * vector.capacity()));
}

}  // namespace

bool Watching::open(Client& client) {
  client.ref_ = state_.clients.add(&client);
  if (client.ref_ == ClientRef{}) return false;
  if (!add_watch(client, *state_.default_tube)) {
    state_.clients.drop(client.ref_);
    return false;
  }
  client.used_ = state_.default_tube;
  ++client.used_->using_clients;
  ++state_.counts.clients;
  return true;
}

tasks::ClosedClient Watching::close(Client& client) {
  std::erase_if(deliveries_, [&](const Delivery& d) { return d.client == &client; });
  state_.wheel.cancel(client.timer_);
  state_.clients.empty(client.ref_);
  --state_.counts.clients;
  if (client.watches_.are_many()) --clients_with_many_;
  if (client.producer_) --state_.counts.producers;
  if (client.worker_) --state_.counts.workers;
  return {std::move(client.held_.heap_), std::move(client.watches_.list_),
          std::move(client.watches_.index_), client.ref_};
}

// Without an index there are so few watches that all are removed at once.
void Watching::drop_watches(tasks::ClosedClient& closed, const Budget& budget) {
  const bool has_index = closed.index != nullptr;
  while (!closed.watches.empty() && (!has_index || !budget.is_used_up())) {
    Watch* watch = closed.watches.back();
    closed.watches.pop_back();
    if (has_index) {
      state_.steps += QueueState::kStepsPerJob;
      closed.index->remove(*watch);
    }
    drop_watch(*watch, has_index && closed.index->many);
  }
}

Outcome Watching::use(Client& client, std::string_view tube_name) {
  Tube* tube = state_.tubes.find_or_create(tube_name);
  if (tube == nullptr) return Outcome::out_of_memory;
  ++tube->using_clients;
  --client.used_->using_clients;
  state_.free_if_unreferenced(*std::exchange(client.used_, tube));
  return Outcome::done;
}

Outcome Watching::watch(Client& client, std::string_view tube_name) {
  Tube* tube = state_.tubes.find_or_create(tube_name);
  if (tube == nullptr) return Outcome::out_of_memory;
  if (find_watch(client, *tube) != nullptr) return Outcome::done;
  if (add_watch(client, *tube)) return Outcome::done;
  state_.free_if_unreferenced(*tube);
  return Outcome::out_of_memory;
}

Outcome Watching::ignore(Client& client, std::string_view tube_name) {
  Tube* tube = state_.tubes.find(tube_name);
  Watch* watch = tube == nullptr ? nullptr : find_watch(client, *tube);
  if (watch == nullptr) return Outcome::done;
  if (client.watches_.list_.size() == 1) return Outcome::only_watched;
  remove_watch(client, *watch);
  return Outcome::done;
}

// Watches ----------------------------------------------------------------------------------------

bool Watching::add_watch(Client& client, Tube& tube) {
  if (!client.watches_.list_.allocate_one()) return false;
  if (client.watches_.weights_ != nullptr && !client.watches_.weights_->allocate_one())
    return false;
  std::unique_ptr<Watch> made(new (std::nothrow) Watch);
  if (made == nullptr) return false;
  made->client = client.ref_;
  made->tube = &tube;
  made->index = client.watches_.list_.size();
  if (!add_to_index(client, *made)) return false;

  Watch& watch = *made.release();
  client.watches_.list_.push_back(&watch);
  if (client.watches_.weights_ != nullptr) client.watches_.weights_->add();
  ++tube.watching_clients;
  if (client.watches_.are_many()) {
    tube.watchers.push_front(watch);
    ++tube.many_watchers;
    watch.offer = Watch::kNoOffer;
    update_offer(client, watch);
    return true;
  }
  tube.watchers.push_back(watch);
  if (client.watches_.list_.size() >= WatchIndex::kManyFrom) become_many(client);
  return true;
}

// Creates or extends the index of a client if it needs one. Returns false if memory is short;
// nothing has changed then.
bool Watching::add_to_index(Client& client, Watch& watch) {
  const std::uint32_t watches = client.watches_.list_.size() + 1;
  if (watches < WatchIndex::kIndexedFrom && client.watches_.index_ == nullptr) return true;
  if (client.watches_.index_ == nullptr) {
    std::unique_ptr<WatchIndex> index(new (std::nothrow) WatchIndex);
    if (index == nullptr) return false;
    for (std::uint32_t i = 0; i < client.watches_.list_.size(); ++i) {
      if (!index->add(*client.watches_.list_[i])) return false;
    }
    state_.steps += watches;
    client.watches_.index_ = std::move(index);
  }
  if (watches >= WatchIndex::kManyFrom && !client.watches_.index_->allocate_offers(watches))
    return false;
  return client.watches_.index_->add(watch);
}

void Watching::become_many(Client& client) {
  CHECK(!client.is_waiting());
  client.watches_.index_->many = true;
  ++clients_with_many_;
  for (std::uint32_t i = 0; i < client.watches_.list_.size(); ++i) {
    Watch& watch = *client.watches_.list_[i];
    watch.tube->watchers.remove(watch);
    watch.tube->watchers.push_front(watch);
    ++watch.tube->many_watchers;
    watch.offer = Watch::kNoOffer;
    update_offer(client, watch);
  }
  state_.steps += std::uint64_t{client.watches_.list_.size()} * QueueState::kStepsPerJob;
}

void Watching::become_few(Client& client) {
  CHECK(!client.is_waiting());
  client.watches_.index_->forget_all_offers();
  client.watches_.index_->many = false;
  --clients_with_many_;
  for (std::uint32_t i = 0; i < client.watches_.list_.size(); ++i) {
    Watch& watch = *client.watches_.list_[i];
    watch.tube->watchers.remove(watch);
    watch.tube->watchers.push_back(watch);
    --watch.tube->many_watchers;
    watch.wait_number = 0;
  }
  state_.steps += std::uint64_t{client.watches_.list_.size()} * QueueState::kStepsPerJob;
}

// The last watch takes the index of the removed one. (Compat: order of list-tubes-watched.)
void Watching::remove_watch(Client& client, Watch& watch) {
  const bool is_to_have_few = client.watches_.list_.size() <= WatchIndex::kFewAgain + 1;
  if (client.watches_.are_many() && is_to_have_few) become_few(client);
  const bool of_many = client.watches_.are_many();
  if (of_many) client.watches_.index_->forget_offer(watch);
  if (client.watches_.index_ != nullptr) client.watches_.index_->remove(watch);
  Watch* last = client.watches_.list_.back();
  client.watches_.list_[watch.index] = last;
  last->index = watch.index;
  client.watches_.list_.pop_back();
  if (client.watches_.weights_ != nullptr) client.watches_.weights_->remove(watch.index);
  drop_watch(watch, of_many);
}

void Watching::drop_watch(Watch& watch, bool of_many) {
  Tube& tube = *watch.tube;
  tube.watchers.remove(watch);
  if (of_many) --tube.many_watchers;
  --tube.watching_clients;
  delete &watch;
  state_.free_if_unreferenced(tube);
}

Watch* Watching::find_watch(const Client& client, Tube& tube) {
  if (client.watches_.index_ != nullptr) return client.watches_.index_->find(tube);
  for (std::uint32_t i = 0; i < client.watches_.list_.size(); ++i) {
    if (client.watches_.list_[i]->tube == &tube) return client.watches_.list_[i];
  }
  return nullptr;
}

// Waiting ----------------------------------------------------------------------------------------

void Watching::start_waiting(Client& client, Instant wait_end, WaitFor waits_for) {
  CHECK(!client.is_busy());
  client.activity_.busy_with_ = ClientActivity::BusyWith::reserve;
  client.activity_.waits_for_ = waits_for;
  client.activity_.wait_end_ = wait_end;
  ++state_.counts.waiting;
  const std::uint64_t number = ++waits_;
  if (client.watches_.are_many()) {
    client.watches_.index_->wait_number = number;
    ++waiting_with_many_;
  } else {
    for (std::uint32_t i = 0; i < client.watches_.list_.size(); ++i) {
      Watch& watch = *client.watches_.list_[i];
      watch.wait_number = number;
      watch.tube->waiting.push_back(watch);
      ++watch.tube->waiting_clients;
    }
    state_.steps += client.watches_.list_.size();
  }
  state_.arm_client(client);
}

void Watching::end_wait(Client& client) {
  client.activity_.busy_with_ = ClientActivity::BusyWith::nothing;
  client.activity_.wait_end_ = Instant::never();
  --state_.counts.waiting;
  if (client.watches_.are_many()) {
    --waiting_with_many_;
    return;
  }
  for (std::uint32_t i = 0; i < client.watches_.list_.size(); ++i) {
    Watch& watch = *client.watches_.list_[i];
    watch.tube->waiting.remove(watch);
    --watch.tube->waiting_clients;
  }
  state_.steps += client.watches_.list_.size();
}

void Watching::end_wait_by(Client& client, Instant end) {
  client.activity_.wait_end_ = end;
  state_.arm_client(client);
}

void Watching::end_wait_without_job(Client& client, Delivery::Kind why) {
  const bool is_empty_batch =
      client.activity_.waits_for_ == WaitFor::batch && why == Delivery::Kind::timed_out;
  end_wait(client);
  deliver({.client = &client, .kind = is_empty_batch ? Delivery::Kind::reserved_in_batch : why});
}

std::uint64_t Watching::wait_number(const Client& client) {
  return client.watches_.are_many() ? client.watches_.index_->wait_number
                                    : client.watches_.list_[0]->wait_number;
}

Client* Watching::first_waiting(Tube& tube) {
  const Watch* first = tube.waiting.first();
  if (tube.many_watchers > 0 && waiting_with_many_ > 0) [[unlikely]] {
    const std::uint64_t before = first == nullptr ? ~std::uint64_t{0} : first->wait_number;
    if (Client* client = first_of_many_waiting(tube, before); client != nullptr) return client;
  }
  return first == nullptr ? nullptr : state_.clients[first->client];
}

std::uint32_t Watching::offer_steps(const Tube& tube) const {
  const std::uint32_t notified = tube.many_watchers * QueueState::kStepsPerJob;
  // The client with few watches that has waited longest; one with many costs little in any case.
  const Watch* first = tube.waiting.first();
  if (first == nullptr || tube.paused) return notified;
  return notified + state_.clients[first->client]->watches_.list_.size() +
         QueueState::kStepsPerDelivery;
}

std::uint32_t Watching::watch_steps(const Client& client) {
  const bool becomes_many = client.watches_.list_.size() + 1 == WatchIndex::kManyFrom;
  return becomes_many ? client.watches_.list_.size() * QueueState::kStepsPerJob : 0;
}

std::uint32_t Watching::ignore_steps(const Client& client) {
  const bool becomes_few =
      client.watches_.are_many() && client.watches_.list_.size() <= WatchIndex::kFewAgain + 1;
  return becomes_few ? client.watches_.list_.size() * QueueState::kStepsPerJob : 0;
}

// Returns the client with many watches that has waited on the tube longest, if its wait is older
// than the wait with the number `before`; otherwise null.
Client* Watching::first_of_many_waiting(Tube& tube, std::uint64_t before) {
  Client* found = nullptr;
  const Watch* watch = tube.watchers.first();
  for (std::uint32_t i = 0; i < tube.many_watchers; ++i, watch = tube.watchers.after(*watch)) {
    Client* client = state_.clients[watch->client];
    if (client == nullptr || !client->is_waiting() ||
        client->watches_.index_->wait_number >= before)
      continue;
    before = client->watches_.index_->wait_number;
    found = client;
  }
  state_.steps += tube.many_watchers;
  return found;
}

std::uint32_t Watching::waiting_clients(const Tube& tube) {
  std::uint32_t waiting = tube.waiting_clients;
  if (waiting_with_many_ == 0) return waiting;
  Tube& same = state_.tubes[tube.ref];
  const Watch* watch = same.watchers.first();
  for (std::uint32_t i = 0; i < same.many_watchers; ++i, watch = same.watchers.after(*watch)) {
    const Client* client = state_.clients[watch->client];
    if (client != nullptr && client->is_waiting()) ++waiting;
  }
  state_.steps += same.many_watchers;
  return waiting;
}

void Watching::announce_to_many(Tube& tube) {
  Watch* watch = tube.watchers.first();
  for (std::uint32_t i = 0; i < tube.many_watchers; ++i, watch = tube.watchers.after(*watch)) {
    if (Client* client = state_.clients[watch->client]; client != nullptr) {
      update_offer(*client, *watch);
    }
  }
  state_.steps += std::uint64_t{tube.many_watchers} * QueueState::kStepsPerJob;
}

void Watching::deliver(const Delivery& delivery) {
  CHECK(deliveries_.size() < deliveries_.capacity());
  deliveries_.push_back(delivery);
  if (!delivery.is_at_once) state_.steps += QueueState::kStepsPerDelivery;
}

void Watching::allocate_deliveries(std::size_t others) {
  grow_vector(deliveries_, deliveries_.size() + state_.counts.waiting +
                               state_.counts.waiting_for_end + others + 1);
}

Tube* Watching::best_tube(const Client& client) {
  if (client.watches_.are_many()) {
    const Watch* watch = client.watches_.index_->best_offer();
    return watch == nullptr ? nullptr : watch->tube;
  }
  if (client.watches_.are_weighted()) [[unlikely]]
    return best_weighted(client);
  Tube* best = nullptr;
  const std::uint32_t watches = client.watches_.list_.size();
  for (std::uint32_t i = 0; i < watches; ++i) {
    Tube& tube = *client.watches_.list_[i]->tube;
    if (!tube.offers_job()) continue;
    if (best == nullptr || tube.ready.top() < best->ready.top()) best = &tube;
  }
  state_.steps += watches;
  return best;
}

Tube* Watching::tube_behind(const Client& client) {
  if (client.watches_.are_many()) return client.watches_.index_->tube_behind();
  const std::uint32_t watches = client.watches_.list_.size();
  state_.steps += watches;
  for (std::uint32_t i = 0; i < watches; ++i) {
    if (client.watches_.list_[i]->tube->offers_job_later()) return client.watches_.list_[i]->tube;
  }
  return nullptr;
}

// Returns the maximum number of watchers with many watches that the tube of the client's next job
// has: of its best offer or, if it has few watches, of any tube that offers a job.
std::uint32_t Watching::most_notified(const Client& client) {
  if (client.watches_.are_many()) {
    const Watch* watch = client.watches_.index_->best_offer();
    return watch == nullptr ? 0 : watch->tube->many_watchers;
  }
  std::uint32_t most = 0;
  for (std::uint32_t i = 0; i < client.watches_.list_.size(); ++i) {
    const Tube& tube = *client.watches_.list_[i]->tube;
    if (tube.offers_job()) most = std::max(most, tube.many_watchers);
  }
  return most;
}

void Watching::update_offer(Client& client, Watch& watch) {
  if (watch.index >= client.watches_.index_->indexed_watches) return;
  if (client.watches_.are_weighted()) {
    client.watches_.index_->update_offer(watch, *client.watches_.weights_);
  } else {
    client.watches_.index_->update_offer(watch);
  }
}

// Returns the tube that is served next, or null if none offers a job. Among equals it is the one
// that has been watched longest.
Tube* Watching::best_weighted(const Client& client) {
  Tube* best = nullptr;
  std::uint64_t best_pass = 0;
  const std::uint32_t watches = client.watches_.list_.size();
  for (std::uint32_t i = 0; i < watches; ++i) {
    Tube& tube = *client.watches_.list_[i]->tube;
    if (!tube.offers_job()) continue;
    const std::uint64_t pass = client.watches_.weights_->pass(i);
    if (best != nullptr && pass >= best_pass) continue;
    best = &tube;
    best_pass = pass;
  }
  state_.steps += watches;
  return best;
}

// Charges a job of the tube to the client. announce() updates the offer of a client with many
// watches.
void Watching::charge_weighted(Client& client, Tube& tube) {
  const Watch* watch = find_watch(client, tube);
  if (watch != nullptr) client.watches_.weights_->charge(watch->index);
}

Outcome Watching::watch(Client& client, Tube& tube, std::uint32_t weight) {
  CHECK(client.watches_.weights_ != nullptr);
  Watch* watch = find_watch(client, tube);
  if (watch == nullptr) {
    if (!add_watch(client, tube)) return Outcome::out_of_memory;
    watch = client.watches_.list_.back();
  }
  client.watches_.weights_->set_weight(watch->index, weight);
  if (client.watches_.are_many()) update_offer(client, *watch);
  return Outcome::done;
}

Outcome Watching::make_weights(std::unique_ptr<WatchWeights>& made, Client& client,
                               const Budget& budget) {
  if (client.watches_.weights_ != nullptr) return Outcome::done;
  if (made == nullptr) made.reset(new (std::nothrow) WatchWeights);
  if (made == nullptr) return Outcome::out_of_memory;
  const std::uint32_t watches = client.watches_.list_.size();
  while (made->size() < watches) {
    if (client.watches_.are_many() && budget.is_used_up()) return Outcome::waiting;
    const std::uint32_t until = std::min(watches, made->size() + QueueState::kStepsPerJob);
    state_.steps += until - made->size();
    if (!made->grow_to(until)) return Outcome::out_of_memory;
  }
  client.watches_.weights_ = std::move(made);
  return Outcome::done;
}

void Watching::take_weights(Client& client, std::unique_ptr<WatchWeights> weights) {
  CHECK(client.watches_.weights_ == nullptr && weights->size() == client.watches_.list_.size());
  client.watches_.weights_ = std::move(weights);
  if (!client.watches_.are_many()) return;
  client.watches_.index_->forget_all_offers();
  for (std::uint32_t i = 0; i < client.watches_.list_.size(); ++i) {
    update_offer(client, *client.watches_.list_[i]);
  }
}

// First makes weights for all watches, which may fail. Then removes the offers in the old order,
// and inserts those in the new one, in the order of the watches. Meanwhile the client is busy: it
// does not reserve, and its watches do not change. An announcement of a tube counts for the watches
// whose offers are in the new order.
Outcome Watching::change_mode(tasks::ModeChange& change, Client& client, const Budget& budget) {
  const Outcome outcome = make_weights(change.made, client, budget);
  if (outcome != Outcome::done) return outcome;
  if (!client.watches_.are_many()) {
    client.watches_.weights_->in_use = change.weighted;
    return Outcome::done;
  }
  const std::uint32_t watches = client.watches_.list_.size();
  WatchIndex& index = *client.watches_.index_;
  if (!change.is_begun) index.indexed_watches = 0;
  change.is_begun = true;
  client.watches_.weights_->in_use = change.weighted;
  while (change.next == 0 && index.offers() > 0) {
    if (budget.is_used_up()) return Outcome::waiting;
    index.forget_some_offer();
    state_.steps += QueueState::kStepsPerJob;
  }
  while (change.next < watches) {
    if (budget.is_used_up()) return Outcome::waiting;
    Watch& watch = *client.watches_.list_[change.next];
    index.indexed_watches = ++change.next;
    update_offer(client, watch);
    state_.steps += QueueState::kStepsPerJob;
  }
  index.indexed_watches = WatchIndex::kAllWatches;
  return Outcome::done;
}

}  // namespace haricot
