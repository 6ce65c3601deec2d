// Addresses of sockets: hosts with ports, and unix sockets in the notation unix:PATH.

#pragma once

#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <memory>
#include <string>
#include <string_view>

namespace haricot::os {

// Returns the address of a socket's peer, for the log and list-clients: `127.0.0.1:4711`, `unix`.
// Always printable ASCII without quotes.
std::string peer_name(int descriptor);

// TCP -------------------------------------------------------------------------------------------

// Returns true if a text may be passed to getaddrinfo(): it is a number up to 65535, in digits, or
// begins with a letter, as the name of a service does. getaddrinfo() itself takes 86446 for 20910,
// and accepts blanks and signs in a number.
bool is_port(std::string_view text);

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;
// Resolves a host and a port to listen on. Returns null on failure; `error` says why.
Addresses addresses_to_listen_on(const std::string& host, const std::string& port,
                                 std::string& error);
// Returns true if a socket failed for this reason because the machine lacks the address.
bool is_missing_address(int reason);
// Returns the address and port in digits.
std::string address_name(const sockaddr* address, socklen_t length);

// Unix sockets ----------------------------------------------------------------------------------

inline constexpr std::string_view kUnixPrefix = "unix:";

// Returns true if the path fits into an address: it has 1 to 107 bytes.
constexpr bool is_unix_path(std::string_view path) {
  return !path.empty() && path.size() < sizeof sockaddr_un::sun_path;
}
// Returns true if the path has a valid length, and either nothing or a socket exists there.
// `is_there`: a socket exists.
bool may_be_socket(const std::string& path, bool& is_there, std::string& error);
// Returns the address of the socket at that path. Requires: is_unix_path(path).
sockaddr_un unix_address(std::string_view path);

}  // namespace haricot::os
