// How much each connection may send in a turn. Few connections get much each. Many that have more
// than that to send share what a turn is for, lest it takes as long as all of their sends together.

#pragma once

#include <algorithm>
#include <cstddef>

#include "haricot/base/turn_limits.hpp"

namespace haricot::os {

class SendShares {
 public:
  // What one connection sends at most: below a millisecond for the kernel.
  static constexpr std::size_t kBytesMax = turn_limits::kSentBytes;
  // What each may send in any case.
  static constexpr std::size_t kBytesMin = turn_limits::kSentBytesMin;
  // What all that send more than that have of a turn.
  static constexpr std::size_t kBytesOfAllMax = turn_limits::kSentBytesOfAll;

  void begin_turn() {
    const std::size_t share = kBytesOfAllMax / std::max(cut_short_, std::size_t{1});
    share_ = std::clamp(share, kBytesMin, kBytesMax);
    cut_short_ = 0;
    left_ = kBytesOfAllMax;
  }
  // How many bytes the next connection may send; from kBytesMin to kBytesMax. It is the same for
  // all that wait since the last turn, while the turn has something left.
  std::size_t next() const { return std::max(std::min(share_, left_), kBytesMin); }
  // A connection has sent so many bytes. `was_cut_short`: the bound has kept it from sending more.
  void took(std::size_t bytes, bool was_cut_short) {
    left_ -= std::min(bytes, left_);
    if (was_cut_short) ++cut_short_;
  }

 private:
  std::size_t share_ = kBytesMax;
  std::size_t left_ = kBytesOfAllMax;
  std::size_t cut_short_ = 0;  // How many connections were, in this turn.
};

}  // namespace haricot::os
