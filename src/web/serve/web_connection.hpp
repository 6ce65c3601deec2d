// The socket of one peer: reads requests, has each answered, and writes the responses, one after
// the other.

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

// What all connections share, and have of their server.
struct WebShared {
  WebLimits limits;
  Site& site;
  Exchange::Server exchanges;
  // A connection has something to do in this turn, which advance() does.
  void (*stirred)(void* self, WebConnection& connection);
  void* self;
  std::uint64_t events = 0;      // Streams of events under way.
  std::uint64_t held_bytes = 0;  // Bodies and responses of all connections.
};

class WebConnection final : public os::EventSource {
 public:
  // `shared` and the handler outlive it.
  WebConnection(os::Descriptor socket, const os::EventHandler& handler_of, WebShared& shared,
                Instant now);
  ~WebConnection();
  WebConnection(const WebConnection&) = delete;
  WebConnection& operator=(const WebConnection&) = delete;

  // Reads and sends what the socket is ready for. `scratch` is for the bytes read.
  void handle(std::uint32_t events, std::span<char> scratch, Instant now);
  // Sends what there is, and begins the next request if the last one is over.
  void advance(Instant now);
  // The peer has taken too long.
  void time_out(Instant now);
  // Ends a stream of events where it stands.
  void end_events(Instant now) {
    if (is_events_) set_phase(Phase::over, now);
  }
  // Limits the connection to probes and requests that show the token. Reads bytes that have come
  // already.
  void use_reserve(std::span<char> scratch, Instant now);
  bool is_idle_in_reserve() const { return is_in_reserve_ && phase_ != Phase::answering; }
  void end() { phase_ = Phase::over; }

  // When time_out() is due.
  Instant deadline() const { return deadline_; }
  std::uint32_t wanted_events() const;
  // The connection has ended: to be closed.
  bool is_over() const { return phase_ == Phase::over; }

 private:
  enum class Phase : std::uint8_t {
    idle,  // Between requests,
    head,  // in the middle of one,
    body,
    answering,  // and its response.
    lingering,  // All is sent; what comes is not read, so that no reset overtakes the response.
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
  bool is_short_ = false;        // A send took less than there was.
  bool is_half_closed_ = false;  // The peer sends no more.
  bool is_events_ = false;       // Its response is a stream of events.
  bool is_stirred_ = false;
  bool is_in_reserve_ = false;
  Instant deadline_;
  RequestParser parser_;
  std::string input_;  // What came after the request that is being answered.
  std::shared_ptr<Exchange> exchange_;
  std::size_t held_ = 0;  // What it has added to held_bytes.
};

}  // namespace haricot::web
