// A filter in the kernel (seccomp) for the system calls that a started server makes.
//
// A call that is not on the list fails with EPERM, and the kernel logs it. The process is not
// killed: the server survives a call that fails, but a server that ends loses its jobs. An attacker
// who exploits a bug of ours is stopped in both cases.

#pragma once

#include <linux/filter.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace haricot::os {

// Programs with a list of their own. `web` is `haricot web`: it makes connections, has one thread
// and stores no files.
enum class FilteredProgram : std::uint8_t { daemon, web };

struct CallFilterOptions {
  FilteredProgram program = FilteredProgram::daemon;
  pid_t self = 0;           // Allows signals to its own threads, for abort().
  bool notifies = false;    // Allows reports to a service manager.
  bool hands_over = false;  // Allows handing everything over to the next server.
};

// Returns the program of the filter; empty if there is no list for this machine. Exposed for tests.
std::vector<sock_filter> make_call_filter(const CallFilterOptions& options);

// Applies the filter to all threads of the process, permanently. Returns false and sets `error` on
// failure. Requires: no new privileges, see Sandbox.
[[nodiscard]] bool enter_call_filter(const CallFilterOptions& options, std::string& error);

}  // namespace haricot::os
