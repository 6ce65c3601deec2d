// A hierarchical timer wheel: setting, moving and cancelling a timer are O(1).
//
//   level   a slot spans      the level reaches
//     0          1 ms               64 ms
//     1         64 ms                4 s
//     2          4 s               4.4 min
//     3        4.4 min             4.7 h
//     4        4.7 h                12 days
//     5         12 days            2.2 years
//     6        2.2 years           139 years  (2^42 ms; the longest TTR is 136 years)
//     7        139 years           what is left of 292 years
//
// A timer is in the slot of the lowest level that reaches its deadline, and moves down a level when
// the wheel reaches its slot: at most seven times in its life. If a slot has more than
// kMovesPerCall timers, they move in several calls.
//
// The wheel reads no clock and makes no callbacks. advance_to() takes the time. pop_due() returns
// one due timer, so the caller decides how many timers it handles at once. A timer is never due
// before its deadline, and at most one tick (1 ms) after it.

#pragma once

#include <array>
#include <cstdint>

#include "haricot/base/intrusive_list.hpp"
#include "haricot/base/time.hpp"
#include "haricot/base/turn_limits.hpp"

namespace haricot {

// One deadline. A timer is a member of its owner, which owner() returns.
class Timer {
 public:
  // `kind` is the type of the owner. The wheel does not interpret either.
  Timer(std::uint8_t kind, void* owner) : owner_(owner), kind_(kind) {}

  std::uint8_t kind() const { return kind_; }
  void* owner() const { return owner_; }
  // Returns the deadline; Instant::never() if the timer is not set.
  Instant deadline() const { return deadline_; }
  bool is_set() const { return hook_.linked(); }

 private:
  friend class TimerWheel;
  static constexpr std::uint8_t kDueLevel = 0xff;

  ListHook hook_;
  Instant deadline_ = Instant::never();
  void* owner_;
  std::uint8_t kind_;
  std::uint8_t level_ = 0;  // Level of the slot that has the timer, or kDueLevel.
  std::uint8_t slot_ = 0;
};

class TimerWheel {
 public:
  // The wheel starts at the given time.
  explicit TimerWheel(Instant now);
  ~TimerWheel() = default;
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  // Sets or moves a timer. A deadline in the past is due at the next pop_due(); Instant::never()
  // cancels. The timer must be cancelled before it is destroyed.
  void set(Timer& timer, Instant deadline);
  void cancel(Timer& timer);

  // Maximum number of timers that one call of advance_to() moves.
  static constexpr std::uint32_t kMovesPerCall = turn_limits::kTimersMoved;

  // Turns the wheel to the given time. A time before the last one has no effect.
  void advance_to(Instant now);

  // Returns a due timer, which is not set any more; null if there is none.
  Timer* pop_due();
  bool has_due() const { return !due_.empty(); }

  // Returns the time of the next call of advance_to(): the earliest deadline, or an earlier moment
  // at which timers change their level; Instant::never() if no timer is set.
  Instant next_event() const;

 private:
  static constexpr unsigned kLevels = 8;
  static constexpr unsigned kSlotBits = 6;
  static constexpr unsigned kSlots = 1U << kSlotBits;
  using Slot = IntrusiveList<Timer, &Timer::hook_>;

  struct Level {
    std::array<Slot, kSlots> slots;
    std::uint64_t occupied = 0;  // Bit i: slot i holds a timer.
  };

  void mark_empty(unsigned level, unsigned slot);
  void hang(Timer& timer);
  void unhang(Timer& timer);
  void empty_slot(unsigned level, unsigned slot);
  void move_falling(std::uint32_t& moves);
  std::uint64_t next_tick() const;

  std::uint64_t tick_;  // Every timer of this tick and before is due.
  std::array<Level, kLevels> levels_;
  std::uint32_t occupied_levels_ = 0;  // Bit i: a slot of level i holds a timer.
  Slot due_;
  Slot falling_;  // Timers of slots whose time has come, on the way to another slot.
};

}  // namespace haricot
