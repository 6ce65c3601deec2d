// The system calls that a started server makes, as a filter in the kernel (seccomp).
//
// A call that is not on the list fails with EPERM, and the kernel logs it. It does not end the
// process: the server survives a call that fails, but a server that ends loses its jobs. An
// attacker who got in by a bug of ours is stopped in both cases.

#pragma once

#include <linux/filter.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace haricot::os {

// Each has a list of its own. `web` is `haricot web`: it connects, has one thread and keeps no
// files.
enum class FilteredProgram : std::uint8_t { daemon, web };

struct CallFilterOptions {
  FilteredProgram program = FilteredProgram::daemon;
  pid_t self = 0;           // Signals to its threads are allowed: for abort().
  bool notifies = false;    // Allows what reports to a service manager need.
  bool hands_over = false;  // Allows what it takes to give everything to the next server.
};

// The filter as a program; empty where there is no list for the machine. Exposed for tests.
std::vector<sock_filter> make_call_filter(const CallFilterOptions& options);

// Puts the filter in force for all threads of the process, for good. Requires: no new privileges,
// see Sandbox. False: `error` says why.
[[nodiscard]] bool enter_call_filter(const CallFilterOptions& options, std::string& error);

}  // namespace haricot::os
