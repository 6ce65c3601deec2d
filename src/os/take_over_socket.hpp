// Hands a running server over to its successor (--take-over-socket, --take-over).
//
//   successor      "take over"
//   predecessor    "parts NAME:NAME…", with their descriptors, or "no WHY"
//   successor      "mine", or "no WHY"
//   predecessor    "yours", and closes: from here on the successor has everything
//
// The texts are messages of a SOCK_SEQPACKET socket. If the other end closes without them, the
// successor has not begun, and this one continues.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/time.hpp"
#include "os/daemon.hpp"
#include "os/descriptor.hpp"
#include "os/listener.hpp"
#include "os/poller.hpp"
#include "os/service_manager.hpp"

namespace haricot::os {

// The running server's side.
class TakeOverSocket {
 public:
  explicit TakeOverSocket(Listener listener) : listener_(std::move(listener)) {}
  TakeOverSocket(const TakeOverSocket&) = delete;
  TakeOverSocket& operator=(const TakeOverSocket&) = delete;

  Listener& listener() { return listener_; }
  const Listener& listener() const { return listener_; }
  // Makes the daemon pause when a permitted process asks: one of root, or of this process's user.
  // Returns false and sets `error` on failure. Requires: the daemon is open, and this object
  // outlives it.
  [[nodiscard]] bool attach(Daemon& daemon, std::string& error);

  // Sends the parts of a sealed state to the process that has asked, and waits until it has taken
  // them over, while reporting to the service manager. On failure returns false and sets `error`:
  // that process has not taken over and never will, because it was refused.
  [[nodiscard]] bool give(const std::vector<NamedDescriptor>& parts, Duration patience,
                          Notifier& notifier, std::string& error);
  // Refuses the request, for this reason.
  void refuse(std::string_view why);
  // Closes the connection: the process that has everything begins.
  void close_peer();

 private:
  void handle_listener(EventSource& source, std::uint32_t events);
  void handle_peer(EventSource& source, std::uint32_t events);

  Listener listener_;
  Daemon* daemon_ = nullptr;
  const EventHandler on_listener_ = EventHandler::to<&TakeOverSocket::handle_listener>(*this);
  const EventHandler on_peer_ = EventHandler::to<&TakeOverSocket::handle_peer>(*this);
  EventSource listener_source_{on_listener_, -1};
  Descriptor peer_;
  EventSource peer_source_{on_peer_, -1};
};

// The end of the successor. If it is destroyed without confirm(), the running server continues.
class TakeOverRequest {
 public:
  // Asks the server that listens at that path, and waits for the parts of its state. This and
  // confirm() return false on failure, and set `error`.
  [[nodiscard]] bool ask(const std::string& path, std::vector<NamedDescriptor>& parts,
                         Notifier& notifier, std::string& error);
  bool is_open() const { return static_cast<bool>(socket_); }
  // Reports why nothing is taken over.
  void refuse(std::string_view why);
  // Confirms that this server is ready, and waits until the other one has given everything up.
  // Returns false if it has not.
  [[nodiscard]] bool confirm(std::string& error);

 private:
  Descriptor socket_;
};

}  // namespace haricot::os
