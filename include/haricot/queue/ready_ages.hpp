// Ages of the ready jobs of a tube, as counts. The age of the oldest job is known within 10 %, even
// among millions and in whichever order they leave.
//
// Time is divided into units of 2^30 ns (about a second). A count is the number of jobs that became
// ready in a window of 2^level units. A job is counted at the lowest level at which its window is
// among the last 16. So older windows are wider, and the instant at which a job became ready
// determines the window that counts it. As time passes, a count moves up once per level.

#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "haricot/base/time.hpp"

namespace haricot {

class ReadyAges {
 public:
  explicit ReadyAges(Instant now) : last_unit_(unit_of(now)) {}

  // Advances the time to `now`. O(1), and almost free within a unit.
  void move_to(Instant now) {
    if (unit_of(now) > last_unit_) move_to_unit(unit_of(now));
  }
  // Adds a job that became ready at `since`.
  void add(Instant since) {
    move_to(since);
    ++count_of(unit_of(since));
  }
  // Removes a job. Requires: it was added with the same instant.
  void remove(Instant since);
  // Returns the middle of the oldest window with a job; nullopt if there is none.
  std::optional<Instant> oldest() const;
  // Number of jobs, for tests.
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
