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

#pragma once

#include <algorithm>
#include <cstdint>

#include "haricot/base/check.hpp"
#include "haricot/base/paged_array.hpp"
#include "haricot/base/serialization.hpp"

namespace haricot {

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

}  // namespace haricot
