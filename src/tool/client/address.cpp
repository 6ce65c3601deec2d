#include "tool/client/address.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "haricot/base/check.hpp"
#include "os/address.hpp"

namespace haricot::tool {
namespace {

constexpr std::string_view kDefaultHost = "127.0.0.1";
constexpr std::string_view kDefaultPort = "11300";

bool is_path(std::string_view path, std::string& error) {
  if (os::is_unix_path(path)) return true;
  error = "the path of a unix socket must have 1 to 107 bytes";
  return false;
}

// Splits host and port. Either may come out empty, and then has its default.
bool split(std::string_view text, std::string_view& host, std::string_view& port,
           std::string& error) {
  if (text.empty()) {
    error = "empty address";
    return false;
  }
  host = text;
  port = {};
  const std::size_t colon = text.rfind(':');
  const bool in_brackets = text.starts_with('[');
  // An IPv6 address without brackets has several colons, and no port.
  const bool has_port = colon != std::string_view::npos &&
                        (in_brackets ? text[colon - 1] == ']' : text.find(':') == colon);
  if (has_port) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
    if (port.empty()) {
      error = "missing port after the colon in " + std::string(text);
      return false;
    }
    if (!os::is_port(port)) {
      error =
          "the port in " + std::string(text) + " must be a number up to 65535 or a service name";
      return false;
    }
  }
  if (in_brackets && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return true;
}

}  // namespace

bool Address::check(std::string_view text, std::string& error) {
  std::string_view host;
  std::string_view port;
  if (text.starts_with(os::kUnixPrefix)) return is_path(text.substr(os::kUnixPrefix.size()), error);
  return split(text, host, port, error);
}

std::optional<Address> Address::find(std::string_view text, std::string& error) {
  Address address;
  const bool good = text.starts_with(os::kUnixPrefix)
                        ? address.set_unix(text.substr(os::kUnixPrefix.size()), error)
                        : address.set_inet(text, error);
  if (!good) return std::nullopt;
  return address;
}

bool Address::set_unix(std::string_view path, std::string& error) {
  if (!is_path(path, error)) return false;
  Endpoint endpoint;
  const sockaddr_un address = os::unix_address(path);
  std::memcpy(&endpoint.bytes, &address, sizeof address);
  endpoint.length = sizeof address;
  endpoints_.push_back(endpoint);
  name_ = std::string(os::kUnixPrefix) + std::string(path);
  return true;
}

bool Address::set_inet(std::string_view text, std::string& error) {
  std::string_view host;
  std::string_view port;
  if (!split(text, host, port, error)) return false;
  const std::string host_name(host.empty() ? kDefaultHost : host);
  const std::string port_name(port.empty() ? kDefaultPort : port);

  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int status = ::getaddrinfo(host_name.c_str(), port_name.c_str(), &hints, &found);
  if (status != 0) {
    error = "cannot resolve " + host_name + " port " + port_name + ": " + ::gai_strerror(status);
    return false;
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    Endpoint endpoint;
    std::memcpy(&endpoint.bytes, each->ai_addr, each->ai_addrlen);
    endpoint.length = each->ai_addrlen;
    endpoints_.push_back(endpoint);
  }
  // Brackets keep host and port apart when the host is a numeric IPv6 address.
  const bool v6 = host_name.find(':') != std::string::npos;
  name_ = (v6 ? "[" + host_name + "]" : host_name) + ":" + port_name;
  return true;
}

bool Address::is_same(const Address& other) const {
  const auto is_one = [](const Endpoint& a, const Endpoint& b) {
    return a.length == b.length && std::memcmp(&a.bytes, &b.bytes, a.length) == 0;
  };
  return name_ == other.name_ ||
         std::equal(endpoints_.begin(), endpoints_.end(), other.endpoints_.begin(),
                    other.endpoints_.end(), is_one);
}

int Address::connect(os::Descriptor& socket, std::size_t endpoint) const {
  CHECK(endpoint < endpoints_.size());
  const Endpoint& to = endpoints_[endpoint];
  const int family = to.bytes.ss_family;
  if (!socket) {
    socket = os::Descriptor(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return errno;
    const int on = 1;
    if (family != AF_UNIX) {
      ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
  }
  const auto* generic = reinterpret_cast<const sockaddr*>(&to.bytes);
  return ::connect(socket.get(), generic, to.length) == 0 ? 0 : errno;
}

}  // namespace haricot::tool
