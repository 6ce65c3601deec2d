// The privileges that the server drops when it has everything that it needs: gaining new
// privileges, files except its own, and system calls that it does not make. An attacker who takes
// over the server by a bug of ours gets a process that can serve jobs, and hardly anything else.
//
// This is permanent, and inherited by threads that are created later.

#pragma once

#include <linux/filter.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "os/options.hpp"

namespace haricot::os {

// Files -----------------------------------------------------------------------------------------

// Rules in the kernel (Landlock) for the files that a started server may use: only its own folder,
// whichever user it runs as. Files that are open already are not affected.
struct PathSandboxOptions {
  // Descriptor of the folder in which files are read, written, created and removed; -1: none.
  int folder = -1;
  // Folders in and below which files may be removed, such as that of a unix socket. A folder that
  // cannot be opened is omitted.
  std::vector<std::string> removal_folders;
  // Folders in and below which files may be read. A folder that cannot be opened is omitted.
  std::vector<std::string> reading_folders;
  bool connects = false;  // Allows TCP connections to others.
};

// Applies the rules to this thread and to threads that it creates later, permanently. So it is
// called before there are other threads. If the kernel supports it, the rules also forbid binding
// and connecting TCP sockets, and signals to other processes. Returns false and sets `error` on
// failure. Requires: no new privileges, see Sandbox.
[[nodiscard]] bool enter_path_sandbox(const PathSandboxOptions& options, std::string& error);

// System calls ----------------------------------------------------------------------------------
//
// A filter in the kernel (seccomp) for the system calls that a started server makes. A call that is
// not on the list fails with EPERM, and the kernel logs it. The process is not killed: the server
// survives a call that fails, but a server that ends loses its jobs. An attacker who exploits a bug
// of ours is stopped in both cases.

// Programs with a list of their own. `web` is `haricot web`: it makes connections, has one thread
// and stores no files.
enum class FilteredProgram : std::uint8_t { daemon, web };

struct CallFilterOptions {
  FilteredProgram program = FilteredProgram::daemon;
  pid_t self = 0;           // Allows signals to its own threads, for abort().
  bool notifies = false;    // Allows reports to a service manager.
  bool hands_over = false;  // Allows handing everything over to the successor.
};

// Returns the program of the filter; empty if there is no list for this machine. Exposed for tests.
std::vector<sock_filter> make_call_filter(const CallFilterOptions& options);

// Applies the filter to all threads of the process, permanently. Returns false and sets `error` on
// failure. Requires: no new privileges, see Sandbox.
[[nodiscard]] bool enter_call_filter(const CallFilterOptions& options, std::string& error);

// Both ------------------------------------------------------------------------------------------

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

  // Applies as much as the kernel supports. Returns the parts that it does not support, for the
  // log; empty: everything is applied. Requires: the process has one thread.
  [[nodiscard]] std::string enter() const;
};

}  // namespace haricot::os
