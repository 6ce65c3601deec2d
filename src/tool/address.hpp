// Where a server listens, and connections to it.

#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>
#include <string_view>

#include "os/descriptor.hpp"

namespace haricot::tool {

class Address {
 public:
  // Understands HOST, HOST:PORT, [V6]:PORT, :PORT and unix:PATH, and looks the host up. Without a
  // port it is 11300, without a host 127.0.0.1. Nothing: `error` says why.
  static std::optional<Address> find(std::string_view text, std::string& error);

  // A connected socket that does not block and sends small commands at once. Waits until the
  // connection stands. An empty one: `error` says why.
  os::Descriptor connect(std::string& error) const;

  // As given, but complete.
  const std::string& name() const { return name_; }

 private:
  bool set_unix(std::string_view path, std::string& error);
  bool set_inet(std::string_view text, std::string& error);

  std::string name_;
  sockaddr_storage bytes_{};
  socklen_t length_ = 0;
};

}  // namespace haricot::tool
