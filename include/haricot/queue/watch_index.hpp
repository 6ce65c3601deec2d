// Index of the watches of a client that watches many tubes: a table by tube, and a heap of the
// watches whose tubes offer a job, with the best job on top.
//
// Most clients watch one or two tubes. They have no index, because scanning a short list costs less
// than maintaining one. From kIndexedFrom watches on, a client has the table by tube. From
// kManyFrom on it has `many` watches, and commands no longer iterate over them: the client's tubes
// announce what they offer (Watching::announce), and the client waits without being in the lists of
// its tubes.

#pragma once

#include <algorithm>
#include <cstdint>

#include "haricot/base/check.hpp"
#include "haricot/base/hash_table.hpp"
#include "haricot/base/heap.hpp"
#include "haricot/base/paged_array.hpp"
#include "haricot/base/serialization.hpp"
#include "haricot/queue/tube.hpp"

namespace haricot {

// Shares the reserves of a client among the tubes that it watches, in proportion to weights.
//
// Stride scheduling: each watch has a pass, the virtual time at which it is served next. The watch
// with the smallest pass is served, and its pass grows by a stride, which is inversely proportional
// to its weight. A tube gains nothing while it is empty or paused: when it offers a job again, its
// pass is at least the virtual time, which is the pass of the watch that was served last.
//
//   weights 4:2:1   a b a c a b a | a b a c a b a | ...
//
// Source: Waldspurger and Weihl, "Stride Scheduling: Deterministic Proportional-Share Resource
// Management", 1995.
class WatchWeights {
 public:
  static constexpr std::uint32_t kWeightMax = 65535;

  // Reserves go by weight. If false, the weights are only stored.
  bool in_use = false;

  // Allocates memory for another watch. Returns false if there is none.
  [[nodiscard]] bool allocate_one() { return shares_.allocate_one(); }
  // Adds a watch with weight 1. Requires: allocate_one().
  void add() { shares_.push_back({time_, 1}); }
  // Adds watches with weight 1 until there are that many. Returns false if memory is short; the
  // added ones remain.
  [[nodiscard]] bool grow_to(std::uint32_t watches) {
    while (size() < watches) {
      if (!allocate_one()) return false;
      add();
    }
    return true;
  }
  // Removes a watch; the last one takes its index.
  void remove(std::uint32_t index) {
    shares_[index] = shares_.back();
    shares_.pop_back();
  }
  std::uint32_t size() const { return shares_.size(); }

  std::uint32_t weight(std::uint32_t index) const { return shares_[index].weight; }
  // Sets a weight. It counts at once: the rest of the pass grows or shrinks with the stride.
  // Requires: 1 to kWeightMax.
  void set_weight(std::uint32_t index, std::uint32_t weight) {
    CHECK(weight >= 1 && weight <= kWeightMax);
    Share& share = shares_[index];
    const std::uint64_t left = pass(index) - time_;  // At most a stride, so the product fits.
    share.pass = time_ + left * share.weight / weight;
    share.weight = weight;
  }

  // Returns the virtual time at which the watch is served next, if its tube offers a job now.
  std::uint64_t pass(std::uint32_t index) const { return std::max(shares_[index].pass, time_); }
  // Charges the watch for a job that it was served.
  void charge(std::uint32_t index) {
    time_ = pass(index);
    shares_[index].pass = time_ + kStrideOfOne / shares_[index].weight;
  }
  void write(StateWriter& to) const;
  // Reads the weights of that many watches. Returns false if they are invalid or memory is short.
  // Requires: there are none.
  [[nodiscard]] bool read(StateReader& from, std::uint32_t watches);

  // Keeps the current pass of a watch, whose tube offers a job from now on, until the watch is
  // served.
  void activate(std::uint32_t index) { shares_[index].pass = pass(index); }

 private:
  // Divided by the largest weight it is 256, so weights are exact to 0.4 %. The virtual time
  // reaches 2^63 after 5 * 10^11 jobs of weight 1.
  static constexpr std::uint64_t kStrideOfOne = std::uint64_t{1} << 24;

  struct Share {
    std::uint64_t pass;
    std::uint32_t weight;
  };
  using ShareFields = FieldList<&Share::pass, &Share::weight>;

  PagedArray<Share> shares_;  // In the order of the client's watches.
  std::uint64_t time_ = 0;    // Virtual time.
};

inline void WatchWeights::write(StateWriter& to) const {
  to.value(in_use);
  to.value(time_);
  for (std::uint32_t i = 0; i < size(); ++i) ShareFields::write(to, shares_[i]);
}

inline bool WatchWeights::read(StateReader& from, std::uint32_t watches) {
  from.value(in_use);
  from.value(time_);
  for (std::uint32_t i = 0; i < watches && from.is_good(); ++i) {
    if (!allocate_one()) return false;
    Share share{};
    ShareFields::read(from, share);
    // The rest of a pass is at most a stride, as set_weight() requires.
    const bool is_weight = share.weight >= 1 && share.weight <= kWeightMax;
    const bool is_pass = share.pass <= time_ || share.pass - time_ <= kStrideOfOne;
    if (!is_weight || !is_pass) from.refuse();
    shares_.push_back(share);
  }
  return from.is_good();
}

class WatchIndex {
 public:
  static constexpr std::uint32_t kIndexedFrom = 65;
  static constexpr std::uint32_t kManyFrom = 1025;
  // A client with at most this number of watches no longer has `many`. It is far below kManyFrom,
  // because each change between few and many iterates over all watches.
  static constexpr std::uint32_t kFewAgain = 512;

  WatchIndex() = default;
  ~WatchIndex();
  WatchIndex(const WatchIndex&) = delete;
  WatchIndex& operator=(const WatchIndex&) = delete;

  // Returns false if memory is short; nothing has changed then. Requires: the watch is not in the
  // index.
  [[nodiscard]] bool add(Watch& watch);
  // Requires: the watch is in the index, and is not among the offers, unless these are no longer
  // used.
  void remove(Watch& watch);
  // Returns null if no watch of the tube is in the index.
  Watch* find(const Tube& tube) const;
  std::uint32_t size() const { return by_tube_.size(); }
  // Bytes of the names of all tubes in the index.
  std::uint64_t name_bytes() const { return name_bytes_; }

  // Allocates room for that many offers. Returns false if memory is short.
  [[nodiscard]] bool allocate_offers(std::uint32_t watches) { return offers_.allocate(watches); }
  // Updates the offer of a watch from its tube. Requires: allocate_offers() for all watches. O(log
  // n) in the number of watches whose tubes offer a job.
  void update_offer(Watch& watch);
  // Overload for a client that reserves by weight: the smallest pass is on top.
  void update_offer(Watch& watch, WatchWeights& weights);
  // Remove one watch, or all, from the offers and from the watches whose tubes are behind.
  void forget_offer(Watch& watch);
  void forget_all_offers();
  // Returns the watch whose tube offers the best job, or null.
  Watch* best_offer() const { return offers_.empty() ? nullptr : offers_.top().watch; }
  // Returns a tube that offers a job later (Tube::offers_job_later), or null.
  Tube* tube_behind() const { return behind_.empty() ? nullptr : behind_.front().tube; }
  std::uint32_t offers() const { return offers_.size(); }
  // Removes any watch from the offers. Requires: there is one.
  void forget_some_offer() { offers_.take_any().watch->offer = Watch::kNoOffer; }
  // Returns true if the offer of the watch is up to date. For tests.
  bool is_offer_right(const Watch& watch, const WatchWeights* weights) const;

  static constexpr std::uint32_t kAllWatches = 0xffffffff;

  bool many = false;
  // Number of the client's first watches that have offers: all, except while the order of the
  // offers is changed.
  std::uint32_t indexed_watches = kAllWatches;
  // Sequence number of the wait of a client with many watches; lower means waiting longer.
  std::uint64_t wait_number = 0;

 private:
  struct Entry {
    std::uint64_t hash;  // Hash of the tube's name; clients cannot predict it.
    Entry* next_in_bucket;
    Watch* watch;
  };
  struct Offer {
    // First ready job of the tube. If the client reserves by weight, the pass of the watch replaces
    // the id, and all priorities are equal.
    ReadyEntry job;
    Watch* watch;

    bool operator<(const Offer& other) const { return job < other.job; }
  };
  struct Indexes {
    void moved(const Offer& offer, std::uint32_t index) const { offer.watch->offer = index; }
  };

  bool take_in(Watch& watch);
  void update_offer(Watch& watch, const Offer& offer);

  HashTable<Entry> by_tube_;
  std::uint64_t name_bytes_ = 0;
  IndexedHeap<Offer, Freed::kept> offers_;
  IntrusiveList<Watch, &Watch::waiting> behind_;
};

}  // namespace haricot
