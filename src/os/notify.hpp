// Reports to the service manager: that the server is ready, what it is doing, that it lives.
//
// The protocol is systemd's sd_notify(3), without its library: datagrams of KEY=value lines to the
// socket that NOTIFY_SOCKET names, a path or, after an '@', an abstract name. Nothing here waits
// for the manager but ready(), stopping() and what is about stored descriptors, and those no longer
// than a second, or than they say: a manager that does not read must not keep the server from
// serving.

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
  // connects. Where nobody asked, nothing is ever sent. False: somebody asked, but in a way that
  // cannot be followed; `error` says why, and what could be followed is. No reason not to serve.
  //
  // To be called before the process gives up rights: the socket may be root's.
  [[nodiscard]] bool open(std::string& error);

  bool is_open() const { return static_cast<bool>(socket_); }

  // The jobs are back, connections are answered.
  void ready(std::string_view status);
  // The end has begun.
  void stopping();
  // A line for `systemctl status`.
  void status(std::string_view text);
  // The same during a start or a stop that takes long, with a plea for more time: the timeout of
  // the start or of the stop ends no sooner than a minute from now.
  void takes_time(std::string_view status);

  // Gives the manager a descriptor to keep while the service is down, under a name of up to 255
  // printing characters without a colon, and to pass at the next start. It stays open here. False:
  // the manager could not be told. Whether it keeps any, and so many, nobody can ask.
  [[nodiscard]] bool store(std::string_view name, int descriptor);
  // It closes what it keeps under that name.
  void forget_stored(std::string_view name);
  // Waits until the manager has read all that it was told, five seconds at most. False: it has not.
  [[nodiscard]] bool wait_until_read();

  // When the watchdog wants to hear of us next; never where there is none.
  Instant next_keep_alive() const { return next_keep_alive_; }
  // Tells the watchdog that we live, if it is time to.
  void keep_alive(Instant now) {
    if (next_keep_alive_ <= now) notify_watchdog(now);
  }
  // Waits until there is something to be read there, and tells the watchdog meanwhile. False: there
  // is nothing within that time.
  [[nodiscard]] bool wait_for(int descriptor, Duration patience);

 private:
  enum class Urgency : std::uint8_t { may_be_lost, must_arrive };

  bool take_address(const std::string& name);
  bool connect();
  void read_watchdog(std::string_view interval, std::string_view pid);
  void notify_watchdog(Instant now);
  void send(const std::string& text, Urgency urgency) { (void)send(text, -1, urgency); }
  bool send(const std::string& text, int descriptor, Urgency urgency);

  sockaddr_un address_{};
  socklen_t address_bytes_ = 0;
  Descriptor socket_;
  Duration keep_alive_interval_;
  Instant next_keep_alive_ = Instant::never();
};

}  // namespace haricot::os
