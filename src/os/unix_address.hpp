// Addresses of unix sockets in the notation unix:PATH.

#pragma once

#include <sys/un.h>

#include <string_view>

namespace haricot::os {

inline constexpr std::string_view kUnixPrefix = "unix:";

// Returns true if the path fits into an address: it has 1 to 107 bytes.
constexpr bool is_unix_path(std::string_view path) {
  return !path.empty() && path.size() < sizeof sockaddr_un::sun_path;
}

// Returns the address of the socket at that path. Requires: is_unix_path(path).
sockaddr_un unix_address(std::string_view path);

}  // namespace haricot::os
