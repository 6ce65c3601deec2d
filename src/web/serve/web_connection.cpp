#include "web/serve/web_connection.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>
#include <utility>

#include "os/listener.hpp"
#include "web/http/refusal.hpp"

namespace haricot::web {
namespace {

bool is_passing(int error) {
  return error == EAGAIN || error == EINTR;
}

Duration milliseconds(std::uint64_t count) {
  return Duration::milliseconds(static_cast<std::int64_t>(count));
}

}  // namespace

WebConnection::WebConnection(os::Descriptor socket, const os::EventHandler& handler_of,
                             WebShared& shared, Instant now)
    : EventSource(handler_of, socket.get()),
      socket_(std::move(socket)),
      shared_(shared),
      peer_(os::peer_name(descriptor)),
      parser_(shared.limits.head_bytes_max) {
  set_phase(Phase::idle, now);
}

WebConnection::~WebConnection() {
  if (exchange_) exchange_->leave();
  if (is_events_) --shared_.events;
  shared_.held_bytes -= held_;
}

std::uint32_t WebConnection::wanted_events() const {
  std::uint32_t events = 0;
  if (phase_ != Phase::answering) {
    events = EPOLLIN;
  } else if (!is_half_closed_) {
    events = EPOLLRDHUP;
  }
  return is_short_ ? events | EPOLLOUT : events;
}

void WebConnection::handle(std::uint32_t events, std::span<char> scratch, Instant now) {
  if ((events & EPOLLERR) != 0) return set_phase(Phase::over, now);
  if (phase_ == Phase::answering) {
    if ((events & (EPOLLRDHUP | EPOLLHUP)) != 0) {
      // A half-closed peer may still read a response, but not an endless stream: a browser that has
      // gone away looks the same.
      is_half_closed_ = true;
      if ((events & EPOLLHUP) != 0 || is_events_) set_phase(Phase::over, now);
    }
  } else if ((events & (EPOLLIN | EPOLLHUP)) != 0) {
    const ssize_t result = ::recv(socket_.get(), scratch.data(), scratch.size(), 0);
    if (result == 0 || (result < 0 && !is_passing(errno))) return set_phase(Phase::over, now);
    if (result > 0 && phase_ != Phase::lingering) {
      receive({scratch.data(), static_cast<std::size_t>(result)}, now);
    }
  }
  if ((events & EPOLLOUT) != 0) advance(now);
}

void WebConnection::receive(std::string_view bytes, Instant now) {
  while (!bytes.empty() && phase_ <= Phase::body) {
    bytes.remove_prefix(parser_.feed(bytes));
    if (parser_.has_head() && !take_head(now)) return;
    if (parser_.failure()) return fail(parser_.failure()->status, parser_.failure()->reason, now);
    if (parser_.is_whole()) {
      answer(parser_.take(), now);
      set_phase(Phase::answering, now);
    } else {
      const Phase phase = parser_.is_in_body() ? Phase::body : Phase::head;
      if (phase != phase_ && !parser_.is_idle()) set_phase(phase, now);
    }
  }
  input_ += bytes;
  count_held();
}

// Applies the rules of the site, and the limits of connections and memory.
Site::Decision WebConnection::admit(Request& request, Instant now) {
  Site::Decision decision = shared_.site.judge(request, peer_, now);
  if (is_in_reserve_) request.keeps_alive = false;
  if (decision.refused || decision.route->is_probe) return decision;
  // A quarter is reserved for requests that contain the token.
  const std::uint64_t held_max =
      decision.is_trusted ? shared_.limits.held_bytes_max : shared_.limits.held_bytes_max / 4 * 3;
  const bool is_full = (is_in_reserve_ && !decision.is_trusted) || shared_.held_bytes > held_max;
  if (!is_full) return decision;
  decision.refused = refusal(request, 503, "The server is overloaded. Try again later.");
  decision.refused->more.push_back({"Retry-After", "5"});
  return decision;
}

// Decides about a request by its head. If it is refused, returns false without reading a body, and
// the connection ends.
bool WebConnection::take_head(Instant now) {
  Request request = parser_.head();
  Site::Decision decision = admit(request, now);
  if (decision.refused) {
    request.keeps_alive = false;
    begin(std::move(request), std::move(decision));
    set_phase(Phase::answering, now);
    return false;
  }
  parser_.begin_body(static_cast<std::size_t>(
      std::min<std::uint64_t>(shared_.limits.body_bytes_max, decision.route->body_bytes_max)));
  if (!parser_.failure() && parser_.expects_continue()) {
    constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    // A failure does not matter: such peers wait for a second at most.
    (void)::send(socket_.get(), kContinue.data(), kContinue.size(), MSG_NOSIGNAL);
  }
  return true;
}

void WebConnection::begin(Request request, Site::Decision decision) {
  exchange_ = std::make_shared<Exchange>(
      std::move(request), shared_.exchanges,
      Exchange::Connection{this, [](void* self) {
                             auto& connection = *static_cast<WebConnection*>(self);
                             if (std::exchange(connection.is_stirred_, true)) return;
                             connection.shared_.stirred(connection.shared_.self, connection);
                           }});
  if (decision.is_wrong_login) exchange_->log_action("login-refused", "", "", "");
  if (decision.is_refused_change) {
    exchange_->log_action("change-refused", "", "", std::to_string(decision.refused->status));
  }
  if (decision.refused) exchange_->respond(std::move(*decision.refused));
}

void WebConnection::answer(Request request, Instant now) {
  Site::Decision decision = admit(request, now);
  const bool wants_events = decision.route != nullptr && decision.route->is_events;
  if (!decision.refused && wants_events && shared_.events >= shared_.limits.events_max) {
    decision.refused = refusal(request, 503, "The server is overloaded. Try again later.");
    decision.refused->more.push_back({"Retry-After", "5"});
  }
  const bool is_refused = decision.refused.has_value();
  const Route* const route = decision.route;
  begin(std::move(request), std::move(decision));
  if (is_refused) return;
  if (wants_events) {
    is_events_ = true;
    ++shared_.events;
  }
  route->handle(route->self, exchange_);
}

void WebConnection::fail(std::uint16_t status, std::string_view reason, Instant now) {
  Request request;
  request.keeps_alive = false;
  Response response = refusal(request, status, std::string(reason) + ".");
  begin(std::move(request), {.refused = std::move(response)});
  set_phase(Phase::answering, now);
}

void WebConnection::use_reserve(std::span<char> scratch, Instant now) {
  is_in_reserve_ = true;
  deadline_ = now + milliseconds(shared_.limits.head_ms);
  handle(EPOLLIN, scratch, now);
}

void WebConnection::advance(Instant now) {
  is_stirred_ = false;
  if (phase_ != Phase::answering) return;
  if (!exchange_->output().empty()) send_some(now);
  if (phase_ == Phase::answering && exchange_->is_ended() && exchange_->output().empty()) {
    end_exchange(now);
  }
  count_held();
}

void WebConnection::send_some(Instant now) {
  const std::string_view output = exchange_->output();
  const ssize_t result = ::send(socket_.get(), output.data(), output.size(), MSG_NOSIGNAL);
  if (result < 0 && !is_passing(errno)) return set_phase(Phase::over, now);
  const std::size_t sent = result < 0 ? 0 : static_cast<std::size_t>(result);
  is_short_ = sent < output.size();
  if (!is_short_) {
    deadline_ = Instant::never();
  } else if (sent > 0 || deadline_ == Instant::never()) {
    deadline_ = now + milliseconds(shared_.limits.send_ms);
  }
  exchange_->sent(sent);
}

void WebConnection::end_exchange(Instant now) {
  const bool has_to_close = exchange_->has_to_close() || is_half_closed_;
  const bool is_broken = exchange_->is_broken();
  exchange_->leave();
  exchange_.reset();
  if (std::exchange(is_events_, false)) --shared_.events;
  if (is_broken) return set_phase(Phase::over, now);
  if (has_to_close) {
    ::shutdown(socket_.get(), SHUT_WR);
    input_ = std::string();
    return set_phase(Phase::lingering, now);
  }
  set_phase(Phase::idle, now);
  const std::string input = std::exchange(input_, {});
  receive(input, now);
}

void WebConnection::time_out(Instant now) {
  if (phase_ != Phase::head && phase_ != Phase::body) return set_phase(Phase::over, now);
  fail(408, "The request took too long", now);
}

void WebConnection::set_phase(Phase phase, Instant now) {
  phase_ = phase;
  switch (phase) {
    case Phase::idle:
      deadline_ = now + milliseconds(shared_.limits.idle_ms);
      return;
    case Phase::head:
      deadline_ = now + milliseconds(shared_.limits.head_ms);
      return;
    case Phase::body:
      deadline_ = now + milliseconds(shared_.limits.body_ms);
      return;
    case Phase::lingering:
      deadline_ = now + kLingerTime;
      return;
    case Phase::answering:
    case Phase::over:
      // A handler has its own time limits, and send_some() sets one for unread output.
      deadline_ = Instant::never();
  }
}

void WebConnection::count_held() {
  const std::size_t held =
      input_.size() + parser_.body_bytes() + (exchange_ ? exchange_->output().size() : 0);
  shared_.held_bytes += held - held_;
  held_ = held;
}

}  // namespace haricot::web
