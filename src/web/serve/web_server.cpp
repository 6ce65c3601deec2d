#include "web/serve/web_server.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "os/address.hpp"
#include "os/clock.hpp"
#include "web/http/message.hpp"

namespace haricot::web {
namespace {

// Time for which a connection is read after its last response, so that the peer receives it.
constexpr Duration kLingerTime = Duration::seconds(2);

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
  if (exchange_) exchange_->detach();
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
  Site::Decision decision = shared_.site.decide(request, peer_, now);
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
                             if (std::exchange(connection.is_scheduled_, true)) return;
                             connection.shared_.schedule(connection.shared_.self, connection);
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
  is_scheduled_ = false;
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
  exchange_->detach();
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

// WebServer ---------------------------------------------------------------------------------------

namespace {

constexpr std::size_t kReadBytesMax = 16 * 1024;  // From one connection in a turn.
// Connections above the limit, for health checks and requests that contain the token. Others get a
// 503.
constexpr std::uint64_t kReserve = 64;
constexpr Duration kPause = Duration::milliseconds(100);
constexpr Duration kLogInterval = Duration::seconds(10);
constexpr std::uint32_t kLogTimes = 10;
// Largest number of connections that a listener accepts in a turn.
constexpr int kAcceptedMax = 64;

// Returns the header with the wall clock: Sun, 06 Nov 1994 08:49:37 GMT.
std::string date_line() {
  const std::time_t seconds = static_cast<std::time_t>(os::read_wall_clock() / 1'000'000'000);
  std::tm parts{};
  char text[64];
  if (::gmtime_r(&seconds, &parts) == nullptr) return {};
  const std::size_t bytes =
      std::strftime(text, sizeof text, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &parts);
  return {text, bytes};
}

}  // namespace

WebServer::WebServer(Site& site, const WebLimits& limits, os::Poller& poller, os::Log& log,
                     Instant now)
    : shared_{limits,
              site,
              {this,
               [](void* self, const Request& request, std::string_view action,
                  std::string_view server, std::string_view what, std::string_view result) {
                 static_cast<WebServer*>(self)->log_action(request, action, server, what, result);
               },
               ""},
              [](void* self, WebConnection& connection) {
                static_cast<WebServer*>(self)->scheduled_.push_back(&connection);
              },
              this},
      poller_(poller),
      log_(log),
      listener_handler_(os::EventHandler::to<&WebServer::handle_listener>(*this)),
      connection_handler_(os::EventHandler::to<&WebServer::handle_connection>(*this)),
      scratch_(kReadBytesMax),
      now_(now),
      date_ends_(now),
      refused_logins_(kLogInterval, now, kLogTimes),
      refused_changes_(kLogInterval, now, kLogTimes),
      full_(kLogInterval, now) {
  begin_turn(now);
}

WebServer::~WebServer() {
  for (const auto& connection : connections_) poller_.remove(*connection);
  connections_.clear();  // Handlers that are notified of the end still find the other members.
  for (os::EventSource& source : listener_sources_) poller_.remove(source);
}

bool WebServer::listen(std::vector<os::Listener> listeners) {
  listeners_ = std::move(listeners);
  for (const os::Listener& listener : listeners_) {
    os::EventSource& source =
        listener_sources_.emplace_back(listener_handler_, listener.descriptor());
    if (!poller_.add(source, EPOLLIN)) return false;
  }
  return true;
}

void WebServer::end_events() {
  for (std::size_t i = connections_.size(); i-- > 0;) {  // A connection that ends is replaced by
                                                         // the last one.
    WebConnection& connection = *connections_[i];
    connection.end_events(now_);
    settle(connection);
  }
}

void WebServer::begin_turn(Instant now) {
  now_ = now;
  if (now < date_ends_) return;
  date_ends_ = now + Duration::seconds(1);
  shared_.exchanges.common_headers = date_line() + security_headers();
}

Instant WebServer::next_event() const {
  return scheduled_.empty() ? std::min(next_deadline_, listens_again_) : now_;
}

void WebServer::handle_listener(os::EventSource& source, std::uint32_t /*events*/) {
  for (int i = 0; i < kAcceptedMax; ++i) {
    if (!accept(source)) return;
  }
}

// Returns false if no connection is pending, or there are not enough resources.
bool WebServer::accept(os::EventSource& listener) {
  os::Descriptor socket(
      ::accept4(listener.descriptor, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      pause_listeners();
    }
    return errno == ECONNABORTED;
  }
  const std::uint64_t count = connections_.size();
  const bool is_full = count >= shared_.limits.connections_max;
  if (is_full && full_.take(now_)) {
    log_.event(os::Level::warning, "web-full",
               {{"connections", count}, {"hint", "raise --connections-max"}});
  }
  if (count >= shared_.limits.connections_max + kReserve && !make_room_in_reserve()) return true;
  auto connection =
      std::make_unique<WebConnection>(std::move(socket), connection_handler_, shared_, now_);
  if (!poller_.add(*connection, EPOLLIN)) return true;
  connections_.push_back(std::move(connection));
  WebConnection& added = *connections_.back();
  // Its request has often arrived already. A flood of connections can then not displace it from the
  // reserve.
  if (is_full) added.use_reserve(scratch_, now_);
  settle(added);
  return true;
}

bool WebServer::make_room_in_reserve() {
  WebConnection* oldest = nullptr;
  for (const auto& each : connections_) {
    const bool is_older = oldest == nullptr || each->deadline() < oldest->deadline();
    if (each->is_idle_in_reserve() && is_older) oldest = each.get();
  }
  if (oldest == nullptr) return false;
  oldest->end();
  settle(*oldest);
  return true;
}

// Pauses accepting, because descriptors or memory are exhausted: a listener that stays ready would
// keep the loop busy.
void WebServer::pause_listeners() {
  for (os::EventSource& source : listener_sources_) poller_.change(source, 0);
  listens_again_ = now_ + kPause;
}

void WebServer::handle_connection(os::EventSource& source, std::uint32_t events) {
  auto& connection = static_cast<WebConnection&>(source);
  connection.handle(events, scratch_, now_);
  settle(connection);
}

void WebServer::settle(WebConnection& connection) {
  if (!connection.is_over()) {
    poller_.change(connection, connection.wanted_events());
    next_deadline_ = std::min(next_deadline_, connection.deadline());
    return;
  }
  poller_.remove(connection);
  std::replace(scheduled_.begin(), scheduled_.end(), &connection,
               static_cast<WebConnection*>(nullptr));
  const auto found =
      std::find_if(connections_.begin(), connections_.end(),
                   [&connection](const auto& each) { return each.get() == &connection; });
  // A handler that is notified of the end may answer other requests, but opens no connection.
  const std::unique_ptr<WebConnection> ended = std::exchange(*found, nullptr);
  *found = std::move(connections_.back());
  connections_.pop_back();
}

void WebServer::advance(Instant now) {
  now_ = now;
  // Connections that are scheduled from here on wait for the next turn, so that none starves the
  // others.
  for (std::size_t left = scheduled_.size(); left > 0; --left) {
    WebConnection* connection = scheduled_.front();
    scheduled_.pop_front();
    if (connection == nullptr) continue;
    connection->advance(now);
    settle(*connection);
  }
  if (now >= listens_again_) {
    listens_again_ = Instant::never();
    for (os::EventSource& source : listener_sources_) poller_.change(source, EPOLLIN);
  }
  if (now < next_deadline_) return;
  next_deadline_ = Instant::never();
  for (std::size_t i = connections_.size(); i-- > 0;) {  // A connection that ends is replaced by
                                                         // the last one.
    WebConnection& connection = *connections_[i];
    if (connection.deadline() <= now) connection.time_out(now);
    settle(connection);
  }
}

void WebServer::log_action(const Request& request, std::string_view action, std::string_view server,
                           std::string_view what, std::string_view result) {
  if (action == "change-refused") {
    if (!refused_changes_.take(now_)) return;
    log_.event(os::Level::warning, "web-action-refused",
               {{"peer", request.peer}, {"message", result}});
  } else if (action != "login-refused") {
    log_.event(os::Level::info, "web-action",
               {{"peer", request.peer},
                {"action", action},
                {"server", server},
                {"what", what},
                {"result", result}});
  } else if (refused_logins_.take(now_)) {
    log_.event(os::Level::warning, "web-login-refused", {{"peer", request.peer}});
  }
}

}  // namespace haricot::web
