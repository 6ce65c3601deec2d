#include "support/eventually.hpp"

#include <poll.h>

namespace haricot::test {

bool eventually(const std::function<bool()>& is_true, std::chrono::milliseconds deadline) {
  constexpr int kStepMs = 5;
  const auto end = std::chrono::steady_clock::now() + deadline;
  while (!is_true()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    ::poll(nullptr, 0, kStepMs);
  }
  return true;
}

}  // namespace haricot::test
