// A limit on how often something is done: a line of the log that clients can cause, say.

#pragma once

#include <cstdint>

#include "haricot/base/time.hpp"

namespace haricot {

class RateLimit {
 public:
  // So many times an interval at most, and not before `first`. The interval begins with the first
  // of them.
  RateLimit(Duration interval, Instant first, std::uint32_t times = 1)
      : interval_(interval), ends_(first), times_(times) {}

  // Whether it may be done now. It counts as done then.
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
  Instant ends_;  // Of the interval.
  std::uint32_t times_;
  std::uint32_t left_ = 0;  // In the interval.
};

}  // namespace haricot
