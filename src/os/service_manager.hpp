// The service manager, by systemd's protocols: the descriptors that it passes to this process and
// keeps for the next one, and the reports that it gets.

#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/time.hpp"
#include "os/descriptor.hpp"

namespace haricot::os {

// Separator in the text with all names.
inline constexpr char kNameSeparator = ':';
std::vector<std::string> split_names(std::string_view text);

// Descriptors that the service manager has passed to this process (LISTEN_PID, LISTEN_FDS,
// LISTEN_FDNAMES): sockets to listen on, and descriptors that an earlier process has stored there.
struct PassedDescriptors {
  // In the order in which they were passed. The name is empty if there is none.
  std::vector<NamedDescriptor> sockets;
  std::vector<NamedDescriptor> state;  // See SealedState::is_part().
};

// Removes the variables from the environment. Called once: the caller owns the descriptors then.
PassedDescriptors take_passed_descriptors();

// Reports to the service manager: readiness, status, and that the server is alive.
//
// The protocol is systemd's sd_notify(3), without its library: datagrams of KEY=value lines to the
// socket in NOTIFY_SOCKET, which is a path or, after an '@', an abstract name. Only ready(),
// stopping() and the functions for stored descriptors wait for the manager, for a second at most,
// unless they say otherwise: a manager that does not read must not block the server.
class Notifier {
 public:
  Notifier() = default;
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, removes them from the environment, and
  // connects. Without them nothing is ever sent. Returns false and sets `error` if a value is
  // unusable; the others are used, and the server can serve.
  //
  // Called before the process drops privileges, because the socket may belong to root.
  [[nodiscard]] bool open(std::string& error);

  bool is_open() const { return static_cast<bool>(socket_); }

  // Reports that the jobs are restored and connections are served.
  void ready(std::string_view status);
  // Reports that the server is stopping.
  void stopping();
  // Sets the line that `systemctl status` shows.
  void status(std::string_view text);
  // Sets that line during a long start or stop, and extends the manager's timeout to at least a
  // minute from now.
  void takes_time(std::string_view status);

  // Passes the manager a descriptor to keep while the service is down and to return at the next
  // start, under a name of up to 255 printable characters without a colon. It stays open here.
  // Returns false if the manager could not be reached. The protocol does not report if the manager
  // keeps the descriptor.
  [[nodiscard]] bool store(std::string_view name, int descriptor);
  // Makes the manager close the descriptors that it keeps under that name.
  void remove_stored(std::string_view name);
  // Waits until the manager has read all messages, for five seconds at most. Returns false if it
  // has not.
  [[nodiscard]] bool wait_until_read();

  // Returns the time of the next keep_alive(); never() without a watchdog.
  Instant next_keep_alive() const { return next_keep_alive_; }
  // Notifies the watchdog if it is time.
  void keep_alive(Instant now) {
    if (next_keep_alive_ <= now) notify_watchdog(now);
  }
  // Waits for input on a descriptor, and notifies the watchdog meanwhile. Returns false if there is
  // none within `patience`.
  [[nodiscard]] bool wait_for(int descriptor, Duration patience);

 private:
  enum class Urgency : std::uint8_t { may_be_lost, must_arrive };

  bool take_address(const std::string& name);
  bool connect();
  void read_watchdog(std::string_view interval, std::string_view pid);
  void notify_watchdog(Instant now);
  void send(std::string_view text, Urgency urgency) { (void)send(text, -1, urgency); }
  bool send(std::string_view text, int descriptor, Urgency urgency);

  sockaddr_un address_{};
  socklen_t address_bytes_ = 0;
  Descriptor socket_;
  Duration keep_alive_interval_;
  Instant next_keep_alive_ = Instant::never();
};

}  // namespace haricot::os
