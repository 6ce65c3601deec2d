// What all costly commands of a turn have of it together, in units of work: first come, first
// served.
//
// A part of it is for short commands alone, such as a page of a few jobs, so that these do not wait
// for long ones. Who was put off comes first in the next turn, from the backlog; until then only
// that part may be used.

#pragma once

#include <algorithm>
#include <cstdint>

namespace haricot {

class CostlyWork {
 public:
  using Work = std::uint32_t;

  // A command of that price at most is not costly.
  static constexpr Work kCheap = 15;
  // One of that price at most is short.
  static constexpr Work kShort = 128;
  static constexpr Work kForShort = 512;
  static constexpr Work kPerTurn = 4096;
  static_assert(kCheap < kShort && kShort <= kForShort && kForShort < kPerTurn);

  void begin_turn() {
    is_saved_ = is_awaited_;
    left_ = is_saved_ ? kForShort : kPerTurn + kForShort;
    has_run_ = is_saved_;
  }
  // Those who were put off come now.
  void begin_backlog() {
    is_awaited_ = false;
    if (!is_saved_) return;
    is_saved_ = false;
    left_ += kPerTurn;
    has_run_ = false;
  }
  // Whether somebody was put off since begin_backlog().
  bool is_awaited() const { return is_awaited_; }
  // Whether a command of the price may run; else it is put off. The first long one of a turn may.
  [[nodiscard]] bool take(Work price) {
    if (price <= kCheap) return true;
    const bool is_short = price <= kShort;
    const bool fits = (is_short ? price : price + kForShort) <= left_;
    if (!fits && (is_short || has_run_)) {
      put_off();
      return false;
    }
    if (!is_short) has_run_ = true;
    left_ -= std::min(price, left_);
    return true;
  }
  // A command has to come again for a reason of its own.
  void put_off() { is_awaited_ = true; }

 private:
  Work left_ = kPerTurn + kForShort;
  bool has_run_ = false;     // A long one has, in this turn; or none may before the backlog.
  bool is_awaited_ = false;  // Somebody was put off.
  bool is_saved_ = false;    // kPerTurn is saved for the backlog.
};

}  // namespace haricot
