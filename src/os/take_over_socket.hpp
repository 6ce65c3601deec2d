// How a server gets all that another one has, which runs (--take-over-socket, --take-over).
//
//   next    "take over"
//   this    "parts NAME:NAME…", with their descriptors, or "no WHY"
//   next    "mine", or "no WHY"
//   this    "yours", and closes: from here on the next one has everything
//
// The words are messages of a SOCK_SEQPACKET socket. If the other end closes without them, the next
// one has not begun, and this one goes on.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/time.hpp"
#include "os/daemon.hpp"
#include "os/descriptor.hpp"
#include "os/listener.hpp"
#include "os/notify.hpp"
#include "os/poller.hpp"

namespace haricot::os {

// The end of the server that runs.
class TakeOverSocket {
 public:
  explicit TakeOverSocket(Listener listener) : listener_(std::move(listener)) {}
  TakeOverSocket(const TakeOverSocket&) = delete;
  TakeOverSocket& operator=(const TakeOverSocket&) = delete;

  Listener& listener() { return listener_; }
  const Listener& listener() const { return listener_; }
  // From here on the daemon pauses when somebody asks who may: root, and this process's user. On
  // failure false, and `error` says why. This outlives the daemon, which has been opened.
  [[nodiscard]] bool attach(Daemon& daemon, std::string& error);

  // Gives the parts of a parcel to the one who has asked, and waits until it has taken them over;
  // the service manager hears of this process meanwhile. False: it has not, and never will; it is
  // told to go. `error` says why.
  [[nodiscard]] bool give(const std::vector<NamedDescriptor>& parts, Duration patience,
                          Notifier& notifier, std::string& error);
  // It gets nothing, for this reason.
  void refuse(std::string_view why);
  // The one who has it begins.
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

// The end of the next one. If it is destroyed without agree(), the server goes on.
class TakeOverRequest {
 public:
  // Asks the server that listens at that path, and waits for the parts of its parcel. On failure
  // false, and `error` says why, as in all others.
  [[nodiscard]] bool ask(const std::string& path, std::vector<NamedDescriptor>& parts,
                         Notifier& notifier, std::string& error);
  bool is_open() const { return static_cast<bool>(socket_); }
  // Tells why nothing is taken.
  void refuse(std::string_view why);
  // All is ready here: waits until the server has given everything up. False: it has not.
  [[nodiscard]] bool agree(std::string& error);

 private:
  Descriptor socket_;
};

}  // namespace haricot::os
