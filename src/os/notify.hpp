// Reports to the service manager: that the server is ready, what it does, that it is alive.
//
// The protocol is systemd's sd_notify(3), without its library: datagrams of KEY=value lines to the
// socket that NOTIFY_SOCKET names, a path, or an '@' and an abstract name. Only ready() and
// stopping() wait for the manager, for a second at most: a manager that does not read must not keep
// the server from serving.

#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "haricot/base/time.hpp"
#include "os/descriptor.hpp"

namespace haricot::os {

class Notifier {
 public:
  Notifier() = default;
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, takes them out of the environment, and
  // connects. Without these variables nothing is ever sent. False: a variable is wrong, and `error`
  // says why; the other ones take effect. The server can serve all the same.
  //
  // To be called before the process drops privileges: the socket may be root's.
  [[nodiscard]] bool open(std::string& error);

  bool is_open() const { return static_cast<bool>(socket_); }

  // The jobs are back, connections are answered.
  void ready(std::string_view status);
  // The end has begun.
  void stopping();
  // A line for `systemctl status`.
  void status(std::string_view text);
  // The same during a long start, with a request for more time: the manager's timeout for the start
  // ends no sooner than a minute from now.
  void starting(std::string_view status);

  // When the next report to the watchdog is due; never if there is no watchdog.
  Instant next_keep_alive() const { return next_keep_alive_; }
  // Reports to the watchdog that the server is alive, if a report is due.
  void keep_alive(Instant now) {
    if (next_keep_alive_ <= now) tell_watchdog(now);
  }

 private:
  enum class Urgency : std::uint8_t { may_be_lost, must_arrive };

  bool take_address(const std::string& name);
  bool connect();
  void read_watchdog(std::string_view interval, std::string_view pid);
  void tell_watchdog(Instant now);
  void send(const std::string& text, Urgency urgency);

  sockaddr_un address_{};
  socklen_t address_bytes_ = 0;
  Descriptor socket_;
  Duration keep_alive_interval_;
  Instant next_keep_alive_ = Instant::never();
};

}  // namespace haricot::os
