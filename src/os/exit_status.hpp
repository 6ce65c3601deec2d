// Exit statuses of haricotd. Most are those of beanstalkd, which scripts of operators know.

#pragma once

namespace haricot::os {

inline constexpr int kExitUsage = 5;
inline constexpr int kExitBinlog = 10;
// The state of the previous server stays in its place.
inline constexpr int kExitNotTakenOver = 20;
inline constexpr int kExitNoUser = 33;
inline constexpr int kExitCannotListen = 111;

}  // namespace haricot::os
