// The privileges that the server drops when it has everything that it needs: gaining new
// privileges, files except its own, and system calls that it does not make. An attacker who takes
// over the server by a bug of ours gets a process that can serve jobs, and hardly anything else.
//
// This is permanent, and inherited by threads that are created later.

#pragma once

#include <string>

#include "os/call_filter.hpp"
#include "os/options.hpp"
#include "os/path_sandbox.hpp"

namespace haricot::os {

// Returns true if the sandbox should be entered, according to the flags. Without such a flag: as
// root with a user to become, and under a service manager. A server that is started by hand can be
// debugged, and runs in unusual environments, as beanstalkd does. Requires: the process still has
// its first user and environment.
bool wants_sandbox(const Options& options);

struct Sandbox {
  FilteredProgram program = FilteredProgram::daemon;
  PathSandboxOptions paths;
  bool notifies = false;
  bool hands_over = false;

  // Applies as much as the kernel supports. Returns the rest, for the log; empty: everything is
  // applied. Requires: the process has one thread.
  [[nodiscard]] std::string enter() const;
};

}  // namespace haricot::os
