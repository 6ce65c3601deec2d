// Instants and durations in nanoseconds, as 64-bit integers that saturate.
//
// An Instant is a point on the monotonic clock. Its zero is arbitrary; only differences have a
// meaning. Nothing below the operating system layer reads a clock: the time is an argument
// everywhere.
//
// The longest delay of the protocol, 2^32-1 seconds, is 4.29e18 ns and fits; a larger sum saturates
// at Instant::never(), which no clock reaches (it is 292 years away from zero).

#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace haricot {

class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration nanoseconds(std::int64_t count) { return Duration(count); }
  static constexpr Duration milliseconds(std::int64_t count) { return Duration(count * 1'000'000); }
  static constexpr Duration seconds(std::uint32_t count) {
    return Duration(static_cast<std::int64_t>(count) * 1'000'000'000);
  }

  constexpr std::int64_t count() const { return nanoseconds_; }
  // Whole seconds, rounded towards zero; a negative duration counts as zero.
  constexpr std::uint64_t whole_seconds() const {
    return nanoseconds_ <= 0 ? 0 : static_cast<std::uint64_t>(nanoseconds_ / 1'000'000'000);
  }

  // Whole milliseconds, rounded towards zero; a negative duration counts as zero.
  constexpr std::uint64_t whole_milliseconds() const {
    return nanoseconds_ <= 0 ? 0 : static_cast<std::uint64_t>(nanoseconds_ / 1'000'000);
  }

  friend constexpr auto operator<=>(Duration, Duration) = default;

 private:
  explicit constexpr Duration(std::int64_t count) : nanoseconds_(count) {}
  std::int64_t nanoseconds_ = 0;
};

class Instant {
 public:
  constexpr Instant() = default;
  static constexpr Instant at(std::int64_t nanoseconds) { return Instant(nanoseconds); }
  // Later than every deadline that can come due.
  static constexpr Instant never() { return Instant(std::numeric_limits<std::int64_t>::max()); }

  constexpr std::int64_t count() const { return nanoseconds_; }

  friend constexpr auto operator<=>(Instant, Instant) = default;

  friend constexpr Instant operator+(Instant instant, Duration duration) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(instant.nanoseconds_, duration.count(), &sum)) {
      return duration.count() > 0 ? never() : Instant(std::numeric_limits<std::int64_t>::min());
    }
    return Instant(sum);
  }
  friend constexpr Instant operator-(Instant instant, Duration duration) {
    return instant == never() ? never() : instant + Duration::nanoseconds(-duration.count());
  }
  friend constexpr Duration operator-(Instant later, Instant earlier) {
    std::int64_t difference = 0;
    if (__builtin_sub_overflow(later.nanoseconds_, earlier.nanoseconds_, &difference)) {
      difference = later > earlier ? std::numeric_limits<std::int64_t>::max()
                                   : std::numeric_limits<std::int64_t>::min();
    }
    return Duration::nanoseconds(difference);
  }

 private:
  explicit constexpr Instant(std::int64_t count) : nanoseconds_(count) {}
  std::int64_t nanoseconds_ = 0;
};

// An instant in four bytes, for objects of which there are millions. Rounded down by up to 67 ms;
// wraps around after nine years.
class CoarseInstant {
 public:
  constexpr CoarseInstant() = default;
  constexpr explicit CoarseInstant(Instant instant)
      : steps_(static_cast<std::uint32_t>(steps_of(instant))) {}
  static constexpr CoarseInstant at(std::uint32_t steps) {
    CoarseInstant instant;
    instant.steps_ = steps;
    return instant;
  }
  constexpr std::uint32_t count() const { return steps_; }

  // Returns the whole seconds that have passed. Requires: `now` is not earlier.
  constexpr std::uint64_t whole_seconds_until(Instant now) const {
    const std::uint64_t steps = steps_of(now);
    const std::uint32_t passed = static_cast<std::uint32_t>(steps) - steps_;
    const auto begin = static_cast<std::int64_t>((steps - passed) << kShift);
    return (now - Instant::at(begin)).whole_seconds();
  }

  friend constexpr auto operator<=>(CoarseInstant, CoarseInstant) = default;

 private:
  static constexpr int kShift = 26;
  static constexpr std::uint64_t steps_of(Instant instant) {
    return static_cast<std::uint64_t>(instant.count()) >> kShift;
  }

  std::uint32_t steps_ = 0;
};

// A limit on the frequency of an action, such as a line of the log that clients can cause.
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
