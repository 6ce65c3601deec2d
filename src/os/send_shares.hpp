// Number of bytes that each connection may send in a turn. If few connections send, each may send
// much. Many connections with large output share a bounded amount, so that a turn does not take as
// long as all of their sends together.

#pragma once

#include <algorithm>
#include <cstddef>

#include "haricot/base/turn_limits.hpp"

namespace haricot::os {

class SendShares {
 public:
  // Maximum for one connection: less than a millisecond for the kernel.
  static constexpr std::size_t kBytesMax = turn_limits::kSentBytes;
  // Minimum for each connection that sends in a turn. An answer up to this size never waits.
  static constexpr std::size_t kBytesMin = turn_limits::kSentBytesMin;
  // Bytes for all connections that send more than the minimum, in a turn.
  static constexpr std::size_t kBytesOfAllMax = turn_limits::kSentBytesOfAll;

  void begin_turn() {
    const std::size_t share = kBytesOfAllMax / std::max(cut_short_, std::size_t{1});
    share_ = std::clamp(share, kBytesMin, kBytesMax);
    cut_short_ = 0;
    left_ = kBytesOfAllMax;
  }
  // Returns the number of bytes that the next connection may send, which has `pending` bytes. It is
  // equal for all connections that wait since the last turn, until the turn's bytes are used up;
  // afterwards 0, except for small answers, whose number the commands of a turn bound.
  std::size_t next(std::size_t pending) const {
    if (left_ == 0 && pending > kBytesMin) return 0;
    return std::max(std::min(share_, left_), kBytesMin);
  }
  // Counts the bytes that a connection has sent. `was_cut_short`: the limit has stopped it.
  void took(std::size_t bytes, bool was_cut_short) {
    left_ -= std::min(bytes, left_);
    if (was_cut_short) ++cut_short_;
  }

 private:
  std::size_t share_ = kBytesMax;
  std::size_t left_ = kBytesOfAllMax;
  std::size_t cut_short_ = 0;  // Connections that were, in this turn.
};

}  // namespace haricot::os
