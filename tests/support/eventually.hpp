// Waits for events in another process.

#pragma once

#include <chrono>
#include <functional>

namespace haricot::test {

// Maximum time for events that take milliseconds, on a machine that is busy with other work. A wait
// ends as soon as the event has happened, so a long time costs nothing.
constexpr std::chrono::milliseconds kPatience = std::chrono::seconds(60);

// Calls the function until it returns true or the time is over.
[[nodiscard]] bool eventually(const std::function<bool()>& is_true,
                              std::chrono::milliseconds deadline = kPatience);

}  // namespace haricot::test
