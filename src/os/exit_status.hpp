// Exit statuses of haricotd. Operators' scripts know most of them from beanstalkd.

#pragma once

namespace haricot::os {

inline constexpr int kExitUsage = 5;
inline constexpr int kExitBinlog = 10;
inline constexpr int kExitNotTakenOver = 20;  // The state of the server before stays where it is.
inline constexpr int kExitNoUser = 33;
inline constexpr int kExitCannotListen = 111;

}  // namespace haricot::os
