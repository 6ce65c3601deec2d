// A limit of work, in steps. base/turn_limits.hpp defines a step.
//
// All work is counted in one number of steps that only grows (and the binlog's work on its folder
// in another). A budget is a value of that number at which its work has to stop. So a worker counts
// once, and uses up all budgets that it has at the same time: those of the turn, of a session, and
// of a piece of a task.

#pragma once

#include <algorithm>
#include <cstdint>

namespace haricot {

class Budget {
 public:
  // More than is ever done.
  static constexpr std::uint64_t kAll = ~std::uint64_t{0} / 2;

  // Allows that many steps from now on. `done` counts all steps, and outlives the budget.
  Budget(const std::uint64_t& done, std::uint64_t steps) : done_(&done), end_(done + steps) {}

  bool is_used_up() const { return *done_ >= end_; }
  std::uint64_t left() const { return end_ - std::min(*done_, end_); }
  // Returns a part of the budget: at most that many steps from now on.
  Budget part(std::uint64_t steps) const { return {*done_, std::min(steps, left())}; }

 private:
  const std::uint64_t* done_;
  std::uint64_t end_;
};

}  // namespace haricot
