// What the server gives up once it has all that it needs: new privileges, files but its own, and
// system calls but those that it makes. Whoever takes it over by a bug of ours finds a process that
// can serve jobs, and hardly anything else.
//
// Everything here is one-way and inherited by threads that are made later.

#pragma once

#include <string>

#include "os/call_filter.hpp"
#include "os/options.hpp"
#include "os/path_fence.hpp"

namespace haricot::os {

// Whether to enter the sandbox: as the flags say, or, where they say nothing, as root with a user
// to become and under a service manager. That is where a server runs for good; started by hand it
// stays as open to debuggers and odd surroundings as beanstalkd is. Requires: the process is still
// who started it, and the environment is as it was.
bool wants_sandbox(const Options& options);

struct Sandbox {
  PathFenceOptions paths;
  bool notifies = false;

  // Enters as far as the kernel goes along. Returns what could not be had, for the log; empty: all
  // of it is in force. Requires: the process has one thread.
  [[nodiscard]] std::string enter() const;
};

}  // namespace haricot::os
