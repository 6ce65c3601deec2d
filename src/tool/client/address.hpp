// Where a server listens, and connections to it.

#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/time.hpp"
#include "os/descriptor.hpp"

namespace haricot::tool {

class Address {
 public:
  // Whether the text can be an address at all; if not, `error` says why. Looks nothing up.
  [[nodiscard]] static bool check(std::string_view text, std::string& error);
  // Understands HOST, HOST:PORT, [V6]:PORT, :PORT and unix:PATH, and looks the host up. Without a
  // port it is 11300, without a host 127.0.0.1; an empty text is no address. Nothing: `error` says
  // why.
  static std::optional<Address> find(std::string_view text, std::string& error);

  static constexpr Duration kConnectPatience = Duration::seconds(30);

  // A connected socket that does not block and sends small commands at once. Waits until the
  // connection stands, at most this long for each address that the host has: a host called
  // localhost is often ::1 and 127.0.0.1, and the server listens on one of them. An empty one:
  // `error` says why.
  os::Descriptor connect(std::string& error, Duration patience = kConnectPatience) const;

  // The same without waiting, to one of the addresses that the host has: the connection stands, or
  // has failed, when the socket can be written to. An empty one: `error` says why. Requires: there
  // is such an address.
  os::Descriptor begin_connect(std::size_t endpoint, std::string& error) const;
  // How many addresses the host has; at least one.
  std::size_t endpoints() const { return endpoints_.size(); }

  // As given, but complete.
  const std::string& name() const { return name_; }

  // Whether both lead to the same places, however they are written. Two names of one machine need
  // not.
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
