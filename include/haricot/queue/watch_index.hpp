// Index of the watches of a client that watches many tubes: a table by tube, and a heap of the
// watches whose tubes offer a job, with the best job on top.
//
// Most clients watch one or two tubes. They have no index, because scanning a short list costs less
// than maintaining one. From kIndexedFrom watches on, a client has the table by tube. From
// kManyFrom on it has `many` watches, and commands no longer iterate over them: the client's tubes
// announce what they offer (Watching::announce), and the client waits without being in the lists of
// its tubes.

#pragma once

#include <cstdint>

#include "haricot/base/hash_table.hpp"
#include "haricot/base/heap.hpp"
#include "haricot/queue/tube.hpp"
#include "haricot/queue/watch_weights.hpp"

namespace haricot {

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
