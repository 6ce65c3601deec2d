// When the ready jobs of a tube became ready, as counts. The age of the oldest of millions is known
// within 10 %, in whatever order jobs leave.
//
// Time is cut into units of 2^30 ns (about a second). A count is the number of jobs that became
// ready in a window of 2^level units. A job is counted at the lowest level at which its window is
// among the last 16. So older windows are wider, and the instant at which a job became ready says
// in which window the job is counted. As time goes by, each count moves up once for a level.

#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "haricot/base/time.hpp"

namespace haricot {

class ReadyAges {
 public:
  explicit ReadyAges(Instant now) : last_unit_(unit_of(now)) {}

  // Time has come to `now`. Constant, and next to nothing within one unit.
  void move_to(Instant now) {
    if (unit_of(now) > last_unit_) move_to_unit(unit_of(now));
  }
  // A job that became ready then.
  void add(Instant since) {
    move_to(since);
    ++count_of(unit_of(since));
  }
  // Requires: it was added with the same instant.
  void remove(Instant since);
  // The middle of the first window that has a job; nullopt: there is none.
  std::optional<Instant> oldest() const;
  // Of all jobs, for tests.
  std::uint64_t size() const;

 private:
  static constexpr std::uint32_t kUnitBits = 30;
  static constexpr std::uint32_t kWindows = 16;
  static constexpr std::uint32_t kLevels = 28;  // Enough for half a century.

  static std::int64_t unit_of(Instant instant) { return instant.count() >> kUnitBits; }
  std::uint32_t level_of(std::int64_t unit) const;
  std::uint32_t& at(std::uint32_t level, std::int64_t window) {
    return counts_[level][static_cast<std::uint64_t>(window) % kWindows];
  }
  std::uint32_t& count_of(std::int64_t unit) {
    const std::uint32_t level = level_of(unit);
    return at(level, unit >> level);
  }
  [[gnu::noinline]] void move_to_unit(std::int64_t unit);

  std::int64_t last_unit_;
  std::array<std::array<std::uint32_t, kWindows>, kLevels> counts_{};
};

}  // namespace haricot
