// How much work somebody may do, in steps. base/turn_limits.hpp says what a step is.
//
// All work is counted at one place, a number of steps that only grows (what the binlog does for its
// folder at another). A budget is a value of that number at which its work has to stop. So whoever
// works counts once, and uses up all budgets that he was given at the same time: that of the turn,
// that of a session, that of a piece of a task.

#pragma once

#include <algorithm>
#include <cstdint>

namespace haricot {

class Budget {
 public:
  // More than is ever done.
  static constexpr std::uint64_t kAll = ~std::uint64_t{0} / 2;

  // So many steps from here on. `done` counts all that are done, and outlives the budget.
  Budget(const std::uint64_t& done, std::uint64_t steps) : done_(&done), end_(done + steps) {}

  bool is_used_up() const { return *done_ >= end_; }
  std::uint64_t left() const { return end_ - std::min(*done_, end_); }
  // At most so many steps of it, from here on.
  Budget part(std::uint64_t steps) const { return {*done_, std::min(steps, left())}; }

 private:
  const std::uint64_t* done_;
  std::uint64_t end_;
};

}  // namespace haricot
