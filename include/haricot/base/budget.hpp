// A limit on work, in steps. base/turn_limits.hpp defines a step.
//
// One counter of steps grows with all work, except that the binlog's work on its folder has a
// counter of its own. A budget is the value of the counter at which the work must stop. So code
// counts each step once, and thereby charges all budgets that apply: those of the turn, of the
// session, and of the piece of a task.

#pragma once

#include <algorithm>
#include <cstdint>

namespace haricot {

class Budget {
 public:
  // More steps than are ever counted.
  static constexpr std::uint64_t kAll = ~std::uint64_t{0} / 2;

  // Allows that many steps from now on. `done` is the counter of all steps; it outlives the budget.
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
