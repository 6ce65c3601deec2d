#include "os/address.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "haricot/base/check.hpp"
#include "haricot/base/number.hpp"

namespace haricot::os {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

bool is_port(std::string_view text) {
  if (!text.empty() && is_letter(text.front())) return true;
  return read_number<std::uint16_t>(text).has_value();
}

std::string address_name(const sockaddr* address, socklen_t length) {
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (::getnameinfo(address, length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "?";
  }
  const bool v6 = address->sa_family == AF_INET6;
  return (v6 ? "[" + std::string(host) + "]" : std::string(host)) + ":" + port;
}

Addresses addresses_to_listen_on(const std::string& host, const std::string& port,
                                 std::string& error) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int result = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found); result != 0) {
    error = "cannot find " + host + " port " + port + ": " + ::gai_strerror(result);
    found = nullptr;
  }
  return {found, &::freeaddrinfo};
}

bool is_missing_address(int reason) {
  return reason == EAFNOSUPPORT || reason == EADDRNOTAVAIL;
}

// Unix sockets ------------------------------------------------------------------------------------

// The length of a path in error messages depends on this.
static_assert(sizeof sockaddr_un::sun_path == 108);

sockaddr_un unix_address(std::string_view path) {
  CHECK(is_unix_path(path));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

bool may_be_socket(const std::string& path, bool& is_there, std::string& error) {
  struct stat status {};
  is_there = false;
  if (!is_unix_path(path)) {
    error = "the path of a unix socket must have 1 to 107 bytes: " + path;
    return false;
  }
  is_there = ::lstat(path.c_str(), &status) == 0;
  if (!is_there || S_ISSOCK(status.st_mode)) return true;
  error = path + " exists and is not a socket";
  return false;
}

std::string peer_name(int descriptor) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::getpeername(descriptor, generic, &length) != 0) return "gone";
  return address.ss_family == AF_UNIX ? "unix" : address_name(generic, length);
}

}  // namespace haricot::os
