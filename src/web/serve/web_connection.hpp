// The socket of one peer: reads requests, calls their handlers, and writes the responses, one after
// another.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "haricot/base/time.hpp"
#include "os/descriptor.hpp"
#include "os/poller.hpp"
#include "web/http/exchange.hpp"
#include "web/http/request_parser.hpp"
#include "web/serve/site.hpp"
#include "web/serve/web_limits.hpp"

namespace haricot::web {

class WebConnection;

// State that all connections share.
struct WebShared {
  WebLimits limits;
  Site& site;
  Exchange::Server exchanges;
  // Schedules advance() of the connection for this turn.
  void (*stirred)(void* self, WebConnection& connection);
  void* self;
  std::uint64_t events = 0;      // Number of active streams of events.
  std::uint64_t held_bytes = 0;  // Bodies and responses of all connections.
};

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
  bool is_stirred_ = false;
  bool is_in_reserve_ = false;
  Instant deadline_;
  RequestParser parser_;
  std::string input_;  // Bytes after the request that is being answered.
  std::shared_ptr<Exchange> exchange_;
  std::size_t held_ = 0;  // Its share of held_bytes.
};

}  // namespace haricot::web
