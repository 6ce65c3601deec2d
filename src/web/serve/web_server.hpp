// The listeners and connections of `haricot web`.

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "haricot/base/rate_limit.hpp"
#include "haricot/base/time.hpp"
#include "os/listener.hpp"
#include "os/log.hpp"
#include "os/poller.hpp"
#include "web/serve/site.hpp"
#include "web/serve/web_connection.hpp"
#include "web/serve/web_limits.hpp"

namespace haricot::web {

class WebServer final {
 public:
  // The arguments outlive the server; so does what the routes of the site call.
  WebServer(Site& site, const WebLimits& limits, os::Poller& poller, os::Log& log, Instant now);
  // Ends all connections: handlers hear that their peers are gone.
  ~WebServer();
  WebServer(const WebServer&) = delete;
  WebServer& operator=(const WebServer&) = delete;

  // False: the kernel has no memory.
  [[nodiscard]] bool listen(std::vector<os::Listener> listeners);

  // Who may ask has changed: streams of events end, and their readers ask anew.
  void end_events();

  // To be called before the sources of a turn are handled.
  void begin_turn(Instant now);
  // When advance() has something to do.
  Instant next_event() const;
  // Sends what handlers have answered, and ends what has taken too long.
  void advance(Instant now);

 private:
  void handle_listener(os::EventSource& source, std::uint32_t events);
  void handle_connection(os::EventSource& source, std::uint32_t events);
  bool accept(os::EventSource& listener);
  void pause_listeners();
  // Closes the connection if it is over; else has it watched for what it wants.
  void settle(WebConnection& connection);
  void log_action(const Request& request, std::string_view action, std::string_view server,
                  std::string_view what, std::string_view result);
  // Closes the connection of the reserve that has been idle the longest. Returns false if none is.
  bool make_room_in_reserve();

  WebShared shared_;
  os::Poller& poller_;
  os::Log& log_;
  os::EventHandler listener_handler_;
  os::EventHandler connection_handler_;
  std::vector<os::Listener> listeners_;
  std::deque<os::EventSource> listener_sources_;
  std::vector<std::unique_ptr<WebConnection>> connections_;
  std::deque<WebConnection*> stirred_;
  std::vector<char> scratch_;
  Instant now_;
  Instant next_deadline_ = Instant::never();  // Of the connections; may be too early.
  Instant listens_again_ = Instant::never();  // There was no descriptor for a connection.
  Instant date_ends_;
  RateLimit refused_logins_;
  RateLimit refused_changes_;
  RateLimit full_;
};

}  // namespace haricot::web
