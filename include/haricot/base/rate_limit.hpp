// A limit on how often something is done: a line of the log that clients can cause, say.

#pragma once

#include "haricot/base/time.hpp"

namespace haricot {

class RateLimit {
 public:
  // Once an interval at most, and not before `first`.
  RateLimit(Duration interval, Instant first) : interval_(interval), next_(first) {}

  // Whether it may be done now. It counts as done then: the next one is allowed an interval later.
  [[nodiscard]] bool take(Instant now) {
    if (now < next_) return false;
    next_ = now + interval_;
    return true;
  }

 private:
  Duration interval_;
  Instant next_;
};

}  // namespace haricot
