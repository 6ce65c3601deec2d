// The address of a server.

#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/descriptor.hpp"

namespace haricot::tool {

class Address {
 public:
  // Returns false and sets `error` if the text cannot be an address. Resolves nothing.
  [[nodiscard]] static bool check(std::string_view text, std::string& error);
  // Reads HOST, HOST:PORT, [V6]:PORT, :PORT or unix:PATH, and resolves the host. The default port
  // is 11300, the default host 127.0.0.1; an empty text is invalid. Returns nothing and sets
  // `error` on failure.
  static std::optional<Address> find(std::string_view text, std::string& error);

  // Returns the number of addresses of the host, at least 1: localhost is often ::1 and 127.0.0.1,
  // and the server listens on one of them.
  std::size_t endpoints() const { return endpoints_.size(); }
  // Connects to one address of the host, without waiting. If the descriptor is empty, first makes
  // it a non-blocking socket, with TCP_NODELAY. Returns 0, or the errno. With EINPROGRESS the
  // connection is established, or has failed, when the socket becomes writable. With EAGAIN the
  // queue of a unix socket is full, and the call may be repeated. Requires: endpoint < endpoints().
  int connect(os::Descriptor& socket, std::size_t endpoint) const;

  // Returns the address as given, with default host and port filled in.
  const std::string& name() const { return name_; }

  // Returns true if both have the same name or resolve to the same endpoints. Two names of one
  // machine may resolve differently.
  bool is_same(const Address& other) const;

 private:
  bool set_unix(std::string_view path, std::string& error);
  bool set_inet(std::string_view text, std::string& error);

  struct Endpoint {
    sockaddr_storage bytes{};
    socklen_t length = 0;
  };

  std::string name_;
  std::vector<Endpoint> endpoints_;  // At least one.
};

}  // namespace haricot::tool
