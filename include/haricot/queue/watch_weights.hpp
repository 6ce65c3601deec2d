// How a client's reserves are shared out among the tubes it watches, in proportion to weights.
//
// Stride scheduling: each watch has a pass, the virtual time at which it is served next. The watch
// with the smallest pass is served, and its pass grows by a stride, which is the smaller the larger
// its weight is. A tube without jobs, or a paused one, gains nothing: when it has jobs again, its
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
#include "haricot/base/state_stream.hpp"

namespace haricot {

class WatchWeights {
 public:
  static constexpr std::uint32_t kWeightMax = 65535;

  // Whether reserves go by weight. If not, the weights are only kept.
  bool in_use = false;

  // Makes sure of the memory for another watch. False: there is none.
  [[nodiscard]] bool allocate_one() { return shares_.allocate_one(); }
  // The next watch, of weight 1. Requires: allocate_one().
  void add() { shares_.push_back({time_, 1}); }
  // As many add() as make it so many watches. False: no memory for all of them.
  [[nodiscard]] bool grow_to(std::uint32_t watches) {
    while (size() < watches) {
      if (!allocate_one()) return false;
      add();
    }
    return true;
  }
  // The last watch takes the place of the one that goes.
  void remove(std::uint32_t index) {
    shares_[index] = shares_.back();
    shares_.pop_back();
  }
  std::uint32_t size() const { return shares_.size(); }

  std::uint32_t weight(std::uint32_t index) const { return shares_[index].weight; }
  // It counts at once: what is left of the pass grows or shrinks with the stride. Requires: 1 to
  // kWeightMax.
  void set_weight(std::uint32_t index, std::uint32_t weight) {
    CHECK(weight >= 1 && weight <= kWeightMax);
    Share& share = shares_[index];
    const std::uint64_t left = pass(index) - time_;  // A stride at most, so that it fits.
    share.pass = time_ + left * share.weight / weight;
    share.weight = weight;
  }

  // The virtual time at which the watch is served next, if its tube offers a job now.
  std::uint64_t pass(std::uint32_t index) const { return std::max(shares_[index].pass, time_); }
  // The watch was served.
  void charge(std::uint32_t index) {
    time_ = pass(index);
    shares_[index].pass = time_ + kStrideOfOne / shares_[index].weight;
  }
  void write(StateWriter& to) const;
  // Weights for so many watches. False: they cannot be, or there is no memory. Requires: there are
  // none.
  [[nodiscard]] bool read(StateReader& from, std::uint32_t watches);

  // Its tube offers a job from here on, and keeps the pass that it has now until it is served.
  void activate(std::uint32_t index) { shares_[index].pass = pass(index); }

 private:
  // Divided by the largest weight it is 256: weights are kept to a four hundredth of a percent.
  // 2^63 is as far away as half a million million jobs of weight 1.
  static constexpr std::uint64_t kStrideOfOne = std::uint64_t{1} << 24;

  struct Share {
    std::uint64_t pass;
    std::uint32_t weight;
  };
  using ShareFields = FieldList<&Share::pass, &Share::weight>;

  PagedArray<Share> shares_;  // In the order of the client's watches.
  std::uint64_t time_ = 0;    // The virtual time.
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
    // As set_weight() wants it: what is left of a pass is a stride at most.
    const bool is_weight = share.weight >= 1 && share.weight <= kWeightMax;
    const bool is_pass = share.pass <= time_ || share.pass - time_ <= kStrideOfOne;
    if (!is_weight || !is_pass) from.refuse();
    shares_.push_back(share);
  }
  return from.is_good();
}

}  // namespace haricot
