// Reserves that are shared out among a client's tubes by weight (WatchWeights).

#include <memory>
#include <new>

#include "haricot/base/check.hpp"
#include "haricot/queue/engine.hpp"

namespace haricot {

// Where the client has none yet. False: no memory, and nothing has changed.
bool Engine::make_weights(Client& client) {
  if (client.weights_ != nullptr) return true;
  std::unique_ptr<WatchWeights> made(new (std::nothrow) WatchWeights);
  if (made == nullptr) return false;
  for (std::uint32_t i = 0; i < client.watches_.size(); ++i) {
    if (!made->reserve_one()) return false;
    made->add();
  }
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

Outcome Engine::set_weighted(Client& client, bool weighted) {
  CHECK(!client.is_busy());
  if (weighted == client.is_weighted()) return Outcome::done;
  if (!make_weights(client)) return Outcome::out_of_memory;
  client.weights_->in_use = weighted;
  if (!client.has_many_watches()) return Outcome::done;
  // The offers have another order now.
  client.index_->forget_all_offers();
  for (std::uint32_t i = 0; i < client.watches_.size(); ++i) {
    update_offer(client, *client.watches_[i]);
  }
  steps_ += std::uint64_t{client.watches_.size()} * kStepsPerJob;
  return Outcome::done;
}

void Engine::update_offer(Client& client, Watch& watch) {
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
