#include "web/serve/web_server.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "os/clock.hpp"

namespace haricot::web {
namespace {

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
                static_cast<WebServer*>(self)->stirred_.push_back(&connection);
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
  return stirred_.empty() ? std::min(next_deadline_, listens_again_) : now_;
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
  std::replace(stirred_.begin(), stirred_.end(), &connection, static_cast<WebConnection*>(nullptr));
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
  // Connections that are stirred from here on wait for the next turn, so that none starves the
  // others.
  for (std::size_t left = stirred_.size(); left > 0; --left) {
    WebConnection* connection = stirred_.front();
    stirred_.pop_front();
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
