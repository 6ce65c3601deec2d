// The files that a started server touches, as rules in the kernel (Landlock): its own folder and
// nothing else, whoever it runs as.
//
// What is open already stays as it is.

#pragma once

#include <string>
#include <vector>

namespace haricot::os {

struct PathFenceOptions {
  // A descriptor of the folder in which files are read, written, made and removed; -1: none.
  int folder = -1;
  // Folders in and below which files may be removed: that of a unix socket. Those that cannot be
  // opened are left out.
  std::vector<std::string> removal_folders;
};

// Has it hold for this thread and those that it makes, for good: so call it before there are
// others. Where the kernel can, it also forbids to bind and connect TCP sockets, and to send
// signals to other processes. Requires: no new privileges, see Sandbox. False: `error` says why.
[[nodiscard]] bool enter_path_fence(const PathFenceOptions& options, std::string& error);

}  // namespace haricot::os
