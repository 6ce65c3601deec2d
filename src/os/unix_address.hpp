// Addresses of unix sockets, as an operator writes them: unix:PATH.

#pragma once

#include <sys/un.h>

#include <string_view>

namespace haricot::os {

inline constexpr std::string_view kUnixPrefix = "unix:";

// Whether the path of a socket fits into an address: it has 1 to 107 bytes.
constexpr bool is_unix_path(std::string_view path) {
  return !path.empty() && path.size() < sizeof sockaddr_un::sun_path;
}

// The address of the socket with this path. Requires: is_unix_path(path).
sockaddr_un unix_address(std::string_view path);

}  // namespace haricot::os
