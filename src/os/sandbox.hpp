// The privileges that the server drops when it has all that it needs: new privileges, all files but
// its own, and all system calls but those that it makes. An attacker who takes the server over by a
// bug of ours has a process that can serve jobs, and hardly anything else.
//
// Nothing here can be undone, and threads that are made later inherit it.

#pragma once

#include <string>

#include "os/call_filter.hpp"
#include "os/options.hpp"
#include "os/path_sandbox.hpp"

namespace haricot::os {

// Whether to enter the sandbox: as the flags say. Without such a flag: as root with a user to
// become, and under a service manager. A server that is started by hand can be debugged, and runs
// in strange environments, as beanstalkd does. Requires: the process still has its first user and
// environment.
bool wants_sandbox(const Options& options);

struct Sandbox {
  FilteredProgram program = FilteredProgram::daemon;
  PathSandboxOptions paths;
  bool notifies = false;
  bool hands_over = false;

  // Puts in force what the kernel can. Returns what the kernel cannot, for the log; empty: all of
  // it is in force. Requires: the process has one thread.
  [[nodiscard]] std::string enter() const;
};

}  // namespace haricot::os
