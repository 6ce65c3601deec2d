// Waiting for something that happens in another process.

#pragma once

#include <chrono>
#include <functional>

namespace haricot::test {

// What something that takes milliseconds may take on a machine that is busy with other things.
// Whoever waits goes on as soon as it has happened, so a long time costs nothing.
constexpr std::chrono::milliseconds kPatience = std::chrono::seconds(60);

// Asks again and again until it is true or the time is over.
[[nodiscard]] bool eventually(const std::function<bool()>& is_true,
                              std::chrono::milliseconds deadline = kPatience);

}  // namespace haricot::test
