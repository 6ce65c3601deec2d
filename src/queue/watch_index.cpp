#include "haricot/queue/watch_index.hpp"

#include <new>

namespace haricot {

WatchIndex::~WatchIndex() {
  by_tube_.clear([](Entry* entry) { delete entry; });
}

bool WatchIndex::add(Watch& watch) {
  auto* entry = new (std::nothrow) Entry{watch.tube->hash, nullptr, &watch};
  if (entry == nullptr) return false;
  if (!by_tube_.insert(*entry)) {
    delete entry;
    return false;
  }
  name_bytes_ += watch.tube->name.size();
  return true;
}

void WatchIndex::remove(Watch& watch) {
  if (watch.waiting.linked()) behind_.remove(watch);
  Entry* entry =
      by_tube_.find(watch.tube->hash, [&](const Entry& found) { return found.watch == &watch; });
  CHECK(entry != nullptr);
  by_tube_.erase(*entry);
  name_bytes_ -= watch.tube->name.size();
  delete entry;
}

Watch* WatchIndex::find(const Tube& tube) const {
  const Entry* entry =
      by_tube_.find(tube.hash, [&](const Entry& found) { return found.watch->tube == &tube; });
  return entry == nullptr ? nullptr : entry->watch;
}

// Updates the sets of offers and of tubes that are behind, except the order of the offers. Returns
// true if the tube has an offer to insert or move.
bool WatchIndex::take_in(Watch& watch) {
  const Tube& tube = *watch.tube;
  const bool is_behind = tube.offers_job_later();
  if (is_behind && watch.waiting.linked()) return false;
  if (!tube.offers_job() || watch.waiting.linked()) forget_offer(watch);
  if (is_behind) behind_.push_back(watch);
  return tube.offers_job();
}

void WatchIndex::update_offer(Watch& watch) {
  if (take_in(watch)) update_offer(watch, Offer{watch.tube->ready.top(), &watch});
}

void WatchIndex::update_offer(Watch& watch, WatchWeights& weights) {
  if (!take_in(watch)) return;
  if (watch.offer == Watch::kNoOffer) weights.activate(watch.index);
  const JobRef job = watch.tube->ready.top().job;
  update_offer(watch, Offer{ReadyEntry{weights.pass(watch.index), 0, job}, &watch});
}

void WatchIndex::update_offer(Watch& watch, const Offer& offer) {
  Indexes indexes;
  if (watch.offer == Watch::kNoOffer) {
    offers_.push(offer, indexes);
    return;
  }
  const bool is_known = offers_.at(watch.offer).job == offer.job;
  if (!is_known) offers_.replace(watch.offer, offer, indexes);
}

void WatchIndex::forget_offer(Watch& watch) {
  if (watch.waiting.linked()) behind_.remove(watch);
  if (watch.offer == Watch::kNoOffer) return;
  Indexes indexes;
  offers_.remove(watch.offer, indexes);
  watch.offer = Watch::kNoOffer;
}

void WatchIndex::forget_all_offers() {
  while (!offers_.empty()) forget_some_offer();
  while (!behind_.empty()) behind_.remove(behind_.front());
}

bool WatchIndex::is_offer_right(const Watch& watch, const WatchWeights* weights) const {
  if (watch.waiting.linked() != watch.tube->offers_job_later()) return false;
  if (!watch.tube->offers_job()) return watch.offer == Watch::kNoOffer;
  if (watch.offer >= offers_.size()) return false;
  const Offer& offer = offers_.at(watch.offer);
  if (watch.offer > 0 && offer < offers_.at((watch.offer - 1) / 2)) return false;
  ReadyEntry top = watch.tube->ready.top();
  if (weights != nullptr) top = ReadyEntry{weights->pass(watch.index), 0, top.job};
  return offer.watch == &watch && offer.job == top;
}

}  // namespace haricot
