// Selects the tube that serves a client next: the one with the best job, or by weight
// (WatchWeights).

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/queue/watching.hpp"

namespace haricot {

// Returns the tube with the best job that the client could reserve now, or null.
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
Outcome Watching::change_mode(engine_tasks::ModeChange& change, Client& client,
                              const Budget& budget) {
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
