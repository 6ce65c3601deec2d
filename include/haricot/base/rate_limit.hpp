// A limit on the frequency of an action, such as a line of the log that clients can cause.

#pragma once

#include <cstdint>

#include "haricot/base/time.hpp"

namespace haricot {

class RateLimit {
 public:
  // Allows that many actions per interval, and none before `first`. An interval begins with its
  // first action.
  RateLimit(Duration interval, Instant first, std::uint32_t times = 1)
      : interval_(interval), ends_(first), times_(times) {}

  // Returns true if the action is allowed now, and counts it.
  [[nodiscard]] bool take(Instant now) {
    if (now >= ends_) {
      ends_ = now + interval_;
      left_ = times_;
    }
    if (left_ == 0) return false;
    --left_;
    return true;
  }

 private:
  Duration interval_;
  Instant ends_;  // End of the interval.
  std::uint32_t times_;
  std::uint32_t left_ = 0;  // Actions left in the interval.
};

}  // namespace haricot
