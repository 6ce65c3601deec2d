// The files that a started server may touch, as rules in the kernel (Landlock): its own folder and
// nothing else, whichever user it runs as.
//
// Files that are open already are not affected.

#pragma once

#include <string>
#include <vector>

namespace haricot::os {

struct PathSandboxOptions {
  // A descriptor of the folder in which files are read, written, made and removed; -1: none.
  int folder = -1;
  // Folders in and below which files may be removed: that of a unix socket. Those that cannot be
  // opened are left out.
  std::vector<std::string> removal_folders;
  // Folders in and below which files may be read. The same holds for them.
  std::vector<std::string> reading_folders;
  bool connects = false;  // TCP connections may be begun.
};

// Puts the rules in force for this thread and those that it makes, for good. So it has to be called
// before there are other threads. If the kernel can, the rules also forbid to bind and connect TCP
// sockets and to send signals to other processes. Requires: no new privileges, see Sandbox. False:
// `error` says why.
[[nodiscard]] bool enter_path_sandbox(const PathSandboxOptions& options, std::string& error);

}  // namespace haricot::os
