// Reserves that are shared out among a client's tubes by weight (WatchWeights).

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/queue/engine.hpp"

namespace haricot {

// Where the client has none yet. False: no memory, and nothing has changed.
bool Engine::make_weights(Client& client) {
  if (client.weights_ != nullptr) return true;
  std::unique_ptr<WatchWeights> made(new (std::nothrow) WatchWeights);
  if (made == nullptr || !made->grow_to(client.watches_.size())) return false;
  steps_ += client.watches_.size();
  client.weights_ = std::move(made);
  return true;
}

Outcome Engine::watch(Client& client, std::string_view tube_name, std::uint32_t weight) {
  if (!make_weights(client)) return Outcome::out_of_memory;
  const Outcome outcome = watch(client, tube_name);
  if (outcome != Outcome::done) return outcome;
  Tube* tube = tubes_.find(tube_name);
  const Watch* watch = tube == nullptr ? nullptr : find_watch(client, *tube);
  CHECK(watch != nullptr);
  client.weights_->set_weight(watch->index, weight);
  return Outcome::done;
}

// The offers of a client with many watches have another order then: a long task.
Outcome Engine::set_weighted(Client& client, bool weighted) {
  CHECK(!client.is_busy());
  if (weighted == client.is_weighted()) return Outcome::done;
  if (!client.has_many_watches()) {
    if (!make_weights(client)) return Outcome::out_of_memory;
    client.weights_->in_use = weighted;
    return Outcome::done;
  }
  make_room_for_delivery();
  tasks_.make_room();
  ModeChange change{weighted};
  const Outcome outcome = change_some(change, client, budget_);
  if (outcome == Outcome::waiting) {
    tasks_.begin(&client, nullptr).work = std::move(change);
    client.has_task_ = true;
  }
  return outcome;
}

TaskState Engine::step(LongTask& task, ModeChange& change, Instant, std::uint32_t& budget) {
  const Outcome outcome = change_some(change, *task.client, budget);
  if (outcome == Outcome::waiting) return TaskState::goes_on;
  auto kind = change.weighted ? Delivery::Kind::mode_weighted : Delivery::Kind::mode_fifo;
  if (outcome != Outcome::done) kind = Delivery::Kind::mode_failed;
  deliver(*task.client, kind, JobRef::none, 0);
  return TaskState::done;
}

// Weights for all watches, if the client has none; what can fail ends here. Then the offers in the
// old order go, and those in the new order come, in the order of the watches. The client is busy
// meanwhile: it asks for no job, and its watches stay the same. What tubes announce counts for the
// watches that are among the offers again.
Outcome Engine::change_some(ModeChange& change, Client& client, std::uint32_t& budget) {
  const std::uint32_t watches = client.watches_.size();
  if (client.weights_ == nullptr) {
    if (change.made == nullptr) change.made.reset(new (std::nothrow) WatchWeights);
    if (change.made == nullptr) return Outcome::out_of_memory;
    while (change.made->size() < watches) {
      if (budget == 0) return Outcome::waiting;
      --budget;
      const std::uint32_t until = std::min(watches, change.made->size() + kStepsPerJob);
      if (!change.made->grow_to(until)) return Outcome::out_of_memory;
      steps_ += kStepsPerJob;
    }
    client.weights_ = std::move(change.made);
  }
  WatchIndex& index = *client.index_;
  if (!change.is_begun) index.kept_watches = 0;
  change.is_begun = true;
  client.weights_->in_use = change.weighted;
  while (change.next == 0 && index.offers() > 0) {
    if (budget == 0) return Outcome::waiting;
    --budget;
    index.forget_some_offer();
    steps_ += kStepsPerJob;
  }
  while (change.next < watches) {
    if (budget == 0) return Outcome::waiting;
    --budget;
    Watch& watch = *client.watches_[change.next];
    index.kept_watches = ++change.next;
    update_offer(client, watch);
    steps_ += kStepsPerJob;
  }
  index.kept_watches = WatchIndex::kAllWatches;
  return Outcome::done;
}

void Engine::update_offer(Client& client, Watch& watch) {
  if (watch.index >= client.index_->kept_watches) return;
  if (client.is_weighted()) {
    client.index_->update_offer(watch, *client.weights_);
  } else {
    client.index_->update_offer(watch);
  }
}

// The tube that is served next; null if none offers a job. Of equals it is the one that is watched
// longest.
Tube* Engine::best_weighted(const Client& client) {
  Tube* best = nullptr;
  std::uint64_t best_pass = 0;
  const std::uint32_t watches = client.watches_.size();
  for (std::uint32_t i = 0; i < watches; ++i) {
    Tube& tube = *client.watches_[i]->tube;
    if (!tube.offers_job()) continue;
    const std::uint64_t pass = client.weights_->pass(i);
    if (best != nullptr && pass >= best_pass) continue;
    best = &tube;
    best_pass = pass;
  }
  steps_ += watches;
  return best;
}

// A job of the tube has come to the client. The offer of a client with many watches is told anew by
// announce_offer().
void Engine::charge(Client& client, Tube& tube) {
  const Watch* watch = find_watch(client, tube);
  if (watch != nullptr) client.weights_->charge(watch->index);
}

}  // namespace haricot
