// Waiting for something that happens in another process.

#pragma once

#include <chrono>
#include <functional>

namespace haricot::test {

// Asks again and again until it is true or the time is over.
[[nodiscard]] bool eventually(const std::function<bool()>& is_true,
                              std::chrono::milliseconds deadline = std::chrono::seconds(10));

}  // namespace haricot::test
