// What a client that watches many tubes has beside its list of watches: an index of its watches by
// tube, and a heap of the watches whose tubes offer a job, with the best job on top.
//
// Most clients watch a tube or two. They have no index, because looking through a short list costs
// less than keeping one. From kIndexedFrom watches on, a client has the index by tube. From
// kManyFrom on it has `many` watches: nothing walks over them any more. The client's tubes announce
// what they offer (Watching::announce), and the client waits without being in the lists of its
// tubes.

#pragma once

#include <cstdint>

#include "haricot/base/hash_table.hpp"
#include "haricot/base/indexed_heap.hpp"
#include "haricot/queue/tube.hpp"
#include "haricot/queue/watch_weights.hpp"

namespace haricot {

class WatchIndex {
 public:
  static constexpr std::uint32_t kIndexedFrom = 65;
  static constexpr std::uint32_t kManyFrom = 1025;
  // A client whose watches fall to so few has not `many` any more. This number is far from
  // kManyFrom, because each change between few and many walks over all watches.
  static constexpr std::uint32_t kFewAgain = 512;

  WatchIndex() = default;
  ~WatchIndex();
  WatchIndex(const WatchIndex&) = delete;
  WatchIndex& operator=(const WatchIndex&) = delete;

  // False: no memory, and nothing has changed. Requires: the watch is not in it.
  [[nodiscard]] bool add(Watch& watch);
  // Requires: the watch is in it, and it is not among the offers that are still used.
  void remove(Watch& watch);
  // Null: no watch of the tube is in it.
  Watch* find(const Tube& tube) const;
  std::uint32_t size() const { return by_tube_.size(); }
  // Of the names of all tubes in it.
  std::uint64_t name_bytes() const { return name_bytes_; }

  // Makes sure that so many watches can be among the offers. False: no memory.
  [[nodiscard]] bool allocate_offers(std::uint32_t watches) { return offers_.allocate(watches); }
  // Takes in what the tube of the watch offers now. Requires: allocate_offers() for all watches.
  // O(log n) of the watches whose tubes offer a job.
  void update_offer(Watch& watch);
  // The same for a client whose reserves go by weight: on top is the smallest pass.
  void update_offer(Watch& watch, WatchWeights& weights);
  // Takes the watch out of the offers, and out of the watches whose tubes are behind.
  void forget_offer(Watch& watch);
  void forget_all_offers();
  // The watch whose tube offers the best job; null if there is none.
  Watch* best_offer() const { return offers_.empty() ? nullptr : offers_.top().watch; }
  // A tube that offers a job later (Tube::offers_job_later); null if there is none.
  Tube* tube_behind() const { return behind_.empty() ? nullptr : behind_.front().tube; }
  std::uint32_t offers() const { return offers_.size(); }
  // Takes some watch out of the offers. Requires: there is one.
  void forget_some_offer() { offers_.take_any().watch->offer = Watch::kNoOffer; }
  // Whether the offers say of the watch what is true. For tests.
  bool is_offer_right(const Watch& watch, const WatchWeights* weights) const;

  static constexpr std::uint32_t kAllWatches = 0xffffffff;

  bool many = false;
  // Of the client's watches, in their order, so many are kept among the offers: all, but while the
  // order of the offers is being changed.
  std::uint32_t indexed_watches = kAllWatches;
  // Of a client with many watches that waits: who has the smaller number has waited longer.
  std::uint64_t wait_number = 0;

 private:
  struct Entry {
    std::uint64_t hash;  // That of the tube's name, which no client can choose.
    Entry* next_in_bucket;
    Watch* watch;
  };
  struct Offer {
    // The first of the tube's ready jobs. For a client whose reserves go by weight: with the pass
    // of the watch in the place of the id, and the same priority for all.
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
