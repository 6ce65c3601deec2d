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
  // The arguments, and all objects that the routes call, must outlive the object.
  WebServer(Site& site, const WebLimits& limits, os::Poller& poller, os::Log& log, Instant now);
  // Ends all connections and notifies their handlers.
  ~WebServer();
  WebServer(const WebServer&) = delete;
  WebServer& operator=(const WebServer&) = delete;

  // Returns false if the kernel has no memory.
  [[nodiscard]] bool listen(std::vector<os::Listener> listeners);

  // Ends all streams of events after a change of the access rules; their readers connect again.
  void end_events();

  // Must be called before the sources of a turn are handled.
  void begin_turn(Instant now);
  // Returns the time of the next advance().
  Instant next_event() const;
  // Sends answers of handlers, and closes connections that have timed out.
  void advance(Instant now);

 private:
  void handle_listener(os::EventSource& source, std::uint32_t events);
  void handle_connection(os::EventSource& source, std::uint32_t events);
  bool accept(os::EventSource& listener);
  void pause_listeners();
  // Closes the connection if it has ended; otherwise updates its events in the poller.
  void settle(WebConnection& connection);
  void log_action(const Request& request, std::string_view action, std::string_view server,
                  std::string_view what, std::string_view result);
  // Closes the connection of the reserve that has been idle the longest. Returns false if none is
  // idle.
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
  Instant next_deadline_ = Instant::never();  // Earliest of all connections; may be too early.
  Instant listens_again_ = Instant::never();  // End of a pause for lack of descriptors.
  Instant date_ends_;
  RateLimit refused_logins_;
  RateLimit refused_changes_;
  RateLimit full_;
};

}  // namespace haricot::web
