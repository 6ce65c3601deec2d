// The system calls that a started server makes, as a filter in the kernel (seccomp).
//
// Whatever is not on the list fails with EPERM, and the kernel's log says so. It is not made to end
// the process: a call that fails is something the server is built to survive, and a queue that is
// gone takes its jobs with it. For whoever got in by a bug of ours there is no difference.

#pragma once

#include <linux/filter.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace haricot::os {

struct CallFilterOptions {
  pid_t self = 0;         // Whose threads may be sent signals: for abort().
  bool notifies = false;  // A service manager is told things: sockets of the unix kind can be made.
};

// The filter as a program; empty where there is no list for the machine. Exposed for tests.
std::vector<sock_filter> make_call_filter(const CallFilterOptions& options);

// Has it hold for all threads of the process, for good. Requires: no new privileges, see Sandbox.
// False: `error` says why.
[[nodiscard]] bool enter_call_filter(const CallFilterOptions& options, std::string& error);

}  // namespace haricot::os
