// Rules in the kernel (Landlock) for the files that a started server may use: only its own folder,
// whichever user it runs as.
//
// Files that are open already are not affected.

#pragma once

#include <string>
#include <vector>

namespace haricot::os {

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

}  // namespace haricot::os
