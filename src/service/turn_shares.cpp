#include "haricot/service/turn_shares.hpp"

#include <algorithm>

#include "haricot/base/turn_limits.hpp"

namespace haricot {

TurnShares::TurnShares(const std::uint64_t& steps)
    : steps_(steps),
      budget_(steps, turn_limits::kStepsOfReading),
      whole_(turn_limits::kStepsOfReading),
      read_share_(turn_limits::kStepsPerShare),
      left_for_firsts_(turn_limits::kStepsOfFirsts) {}

void TurnShares::begin_reading(bool has_backlog) {
  budget_ = Budget(steps_, turn_limits::kStepsOfReading);
  whole_ = turn_limits::kStepsOfReading;
  left_for_firsts_ = turn_limits::kStepsOfFirsts;
  read_share_ = has_backlog ? turn_limits::kStepsPerShareMin : steps_per_share();
}

void TurnShares::begin_backlog() {
  budget_ = Budget(steps_, turn_limits::kStepsOfSessions);
  whole_ = turn_limits::kStepsOfSessions;
  is_first_command_ = false;
}

bool TurnShares::admit(std::uint64_t price) {
  const std::uint64_t left = budget_.left();
  if (price <= turn_limits::kStepsOfCheap || price <= left || left == whole_) return true;
  if (!is_first_command_ ||
      price > std::min<std::uint64_t>(turn_limits::kStepsOfFirst, left_for_firsts_)) {
    return false;
  }
  left_for_firsts_ -= price;
  return true;
}

// Requires: the whole share of each would exceed the budget, so no share needs an upper bound.
std::uint32_t TurnShares::steps_per_share(std::uint32_t busy) {
  return std::max(turn_limits::kStepsOfSessions / busy,
                  turn_limits::kStepsPerShareMin + turn_limits::kStepsPerSend) -
         turn_limits::kStepsPerSend;
}

}  // namespace haricot
