#include "haricot/base/timer_wheel.hpp"

#include <bit>

namespace haricot {
namespace {

constexpr std::int64_t kTickNanoseconds = 1'000'000;

// Returns the tick at which a deadline is over: rounded up, so that no timer is early.
std::uint64_t tick_of_deadline(Instant deadline) {
  if (deadline.count() <= 0) return 0;
  const auto nanoseconds = static_cast<std::uint64_t>(deadline.count());
  return (nanoseconds + kTickNanoseconds - 1) / kTickNanoseconds;
}

// Returns the last tick that is over at a time: rounded down.
std::uint64_t tick_of_time(Instant now) {
  return now.count() <= 0 ? 0 : static_cast<std::uint64_t>(now.count() / kTickNanoseconds);
}

}  // namespace

TimerWheel::TimerWheel(Instant now) : tick_(tick_of_time(now)) {}

void TimerWheel::set(Timer& timer, Instant deadline) {
  if (timer.deadline_ == deadline && timer.is_set()) return;
  cancel(timer);
  if (deadline == Instant::never()) return;
  timer.deadline_ = deadline;
  hang(timer);
}

void TimerWheel::cancel(Timer& timer) {
  if (!timer.is_set()) return;
  unhang(timer);
  timer.deadline_ = Instant::never();
}

// Puts a timer into a slot, or among the due timers. The level is that of the highest bit in which
// the deadline differs from the current tick. Both are in the same slot of every higher level, so
// the wheel reaches the slot before the deadline, but not earlier than necessary. The bits of the
// deadline for this level select the slot.
void TimerWheel::hang(Timer& timer) {
  const std::uint64_t tick = tick_of_deadline(timer.deadline_);
  if (tick <= tick_) {
    timer.level_ = Timer::kDueLevel;
    due_.push_back(timer);
    return;
  }
  const auto highest_bit = static_cast<unsigned>(63 - std::countl_zero(tick ^ tick_));
  const unsigned level = highest_bit / kSlotBits;
  CHECK(level < kLevels);
  const auto slot = static_cast<unsigned>(tick >> (level * kSlotBits)) % kSlots;
  timer.level_ = static_cast<std::uint8_t>(level);
  timer.slot_ = static_cast<std::uint8_t>(slot);
  levels_[level].slots[slot].push_back(timer);
  levels_[level].occupied |= std::uint64_t{1} << slot;
  occupied_levels_ |= 1U << level;
}

void TimerWheel::mark_empty(unsigned level, unsigned slot) {
  std::uint64_t& occupied = levels_[level].occupied;
  occupied &= ~(std::uint64_t{1} << slot);
  if (occupied == 0) occupied_levels_ &= ~(1U << level);
}

void TimerWheel::unhang(Timer& timer) {
  if (timer.level_ == Timer::kDueLevel) {
    due_.remove(timer);
    return;
  }
  // A falling timer is in no slot. Naming its old slot is harmless: the timer is removed from
  // whatever list has it, and if the slot is empty, it is marked so already.
  Slot& slot = levels_[timer.level_].slots[timer.slot_];
  slot.remove(timer);
  if (slot.empty()) mark_empty(timer.level_, timer.slot_);
}

// Jumps from one occupied slot to the next, so that an idle year costs nothing.
void TimerWheel::advance_to(Instant now) {
  const std::uint64_t target = tick_of_time(now);
  std::uint32_t moves = kMovesPerCall;
  move_falling(moves);
  while (tick_ < target) {
    const std::uint64_t next = next_tick();
    if (next > target) {
      tick_ = target;
      return;
    }
    tick_ = next;
    // From the highest level that begins a new slot here down to the lowest, so that timers which
    // fall from one level into the current slot of the next are found there.
    for (unsigned level = kLevels; level-- > 0;) {
      const unsigned shift = level * kSlotBits;
      if ((tick_ & ((std::uint64_t{1} << shift) - 1)) != 0) continue;
      empty_slot(level, static_cast<unsigned>(tick_ >> shift) % kSlots);
      move_falling(moves);
    }
  }
}

// Takes all timers of a slot that the wheel has reached.
void TimerWheel::empty_slot(unsigned level, unsigned slot) {
  Level& from = levels_[level];
  if ((from.occupied & (std::uint64_t{1} << slot)) == 0) return;
  mark_empty(level, slot);
  falling_.append(from.slots[slot]);
}

// Moves timers to a lower level or to the due timers. The rest follows in the next call. That is
// not too late: the wheel may have passed their slot by then, but none of their deadlines.
void TimerWheel::move_falling(std::uint32_t& moves) {
  for (; moves > 0 && !falling_.empty(); --moves) {
    Timer& timer = falling_.front();
    falling_.remove(timer);
    hang(timer);
  }
}

Timer* TimerWheel::pop_due() {
  if (due_.empty()) return nullptr;
  Timer& timer = due_.front();
  due_.remove(timer);
  timer.deadline_ = Instant::never();
  return &timer;
}

// Returns the beginning of the first occupied slot after the current tick. Within a level only
// slots after the current one can be occupied, because earlier ones would belong to a higher level.
// All of them come before the slots of higher levels, whose current slot they are in.
std::uint64_t TimerWheel::next_tick() const {
  if (occupied_levels_ == 0) return ~std::uint64_t{0};
  const auto level = static_cast<unsigned>(std::countr_zero(occupied_levels_));
  const unsigned shift = level * kSlotBits;
  const auto slot = static_cast<unsigned>(std::countr_zero(levels_[level].occupied));
  const std::uint64_t block = tick_ >> (shift + kSlotBits);
  return ((block << kSlotBits) + slot) << shift;
}

Instant TimerWheel::next_event() const {
  if (!due_.empty() || !falling_.empty())
    return Instant::at(static_cast<std::int64_t>(tick_) * kTickNanoseconds);
  const std::uint64_t next = next_tick();
  if (next > static_cast<std::uint64_t>(Instant::never().count() / kTickNanoseconds)) {
    return Instant::never();
  }
  return Instant::at(static_cast<std::int64_t>(next) * kTickNanoseconds);
}

}  // namespace haricot
