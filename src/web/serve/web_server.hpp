// The listeners and connections of `haricot web`.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/time.hpp"
#include "os/descriptor.hpp"
#include "os/listener.hpp"
#include "os/log.hpp"
#include "os/poller.hpp"
#include "web/http/exchange.hpp"
#include "web/http/request_parser.hpp"
#include "web/serve/site.hpp"

namespace haricot::web {

// Limits on the resources of clients.
struct WebLimits {
  std::uint64_t connections_max = 1000;
  std::uint64_t events_max = 100;  // Active streams of events.
  std::uint64_t head_bytes_max = 8 * 1024;
  std::uint64_t body_bytes_max = 1024 * 1024;
  std::uint64_t held_bytes_max = 64 * 1024 * 1024;  // Bodies and responses of all connections.
  // Time limit from the first byte of a head to its end.
  std::uint64_t head_ms = 10'000;
  std::uint64_t body_ms = 30'000;  // Time limit of a body.
  std::uint64_t idle_ms = 60'000;  // Time limit between requests.
  std::uint64_t send_ms = 30'000;  // Time limit without reading anything of a response.
};

class WebConnection;

// State that all connections share.
struct WebShared {
  WebLimits limits;
  Site& site;
  Exchange::Server exchanges;
  // Schedules advance() of the connection for this turn.
  void (*schedule)(void* self, WebConnection& connection);
  void* self;
  std::uint64_t events = 0;      // Number of active streams of events.
  std::uint64_t held_bytes = 0;  // Bodies and responses of all connections.
};

// The socket of one peer: reads requests, calls their handlers, and writes the responses, one after
// another.
class WebConnection final : public os::EventSource {
 public:
  // `shared` and the handler must outlive the object.
  WebConnection(os::Descriptor socket, const os::EventHandler& handler_of, WebShared& shared,
                Instant now);
  ~WebConnection();
  WebConnection(const WebConnection&) = delete;
  WebConnection& operator=(const WebConnection&) = delete;

  // Handles events of the socket: reads and sends. `scratch` is the receive buffer.
  void handle(std::uint32_t events, std::span<char> scratch, Instant now);
  // Sends output, and begins the next request if the current one has ended.
  void advance(Instant now);
  // Handles a deadline that has passed.
  void time_out(Instant now);
  // Aborts a stream of events.
  void end_events(Instant now) {
    if (is_events_) set_phase(Phase::over, now);
  }
  // Restricts the connection to health checks and requests that contain the token. Reads bytes that
  // have already arrived.
  void use_reserve(std::span<char> scratch, Instant now);
  bool is_idle_in_reserve() const { return is_in_reserve_ && phase_ != Phase::answering; }
  void end() { phase_ = Phase::over; }

  // Returns the time at which time_out() is due.
  Instant deadline() const { return deadline_; }
  std::uint32_t wanted_events() const;
  // Returns true if the connection has ended and must be closed.
  bool is_over() const { return phase_ == Phase::over; }

 private:
  enum class Phase : std::uint8_t {
    idle,  // Between requests.
    head,  // Within the head of a request.
    body,
    answering,  // Within the response.
    lingering,  // Everything is sent. Input is read and discarded, so that no reset overtakes the
                // response.
    over,
  };

  void receive(std::string_view bytes, Instant now);
  Site::Decision admit(Request& request, Instant now);
  bool take_head(Instant now);
  void begin(Request request, Site::Decision decision);
  void answer(Request request, Instant now);
  void fail(std::uint16_t status, std::string_view reason, Instant now);
  void end_exchange(Instant now);
  void send_some(Instant now);
  void set_phase(Phase phase, Instant now);
  void count_held();

  os::Descriptor socket_;
  WebShared& shared_;
  std::string peer_;
  Phase phase_ = Phase::idle;
  bool is_short_ = false;        // The last send was incomplete.
  bool is_half_closed_ = false;  // The peer has shut down its sending side.
  bool is_events_ = false;       // The response is a stream of events.
  bool is_scheduled_ = false;
  bool is_in_reserve_ = false;
  Instant deadline_;
  RequestParser parser_;
  std::string input_;  // Bytes after the request that is being answered.
  std::shared_ptr<Exchange> exchange_;
  std::size_t held_ = 0;  // Its share of held_bytes.
};

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
  std::deque<WebConnection*> scheduled_;
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
