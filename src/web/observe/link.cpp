#include "web/observe/link.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "haricot/base/check.hpp"
#include "os/clock.hpp"
#include "tool/cli/safe_text.hpp"

namespace haricot::web {
namespace {

constexpr Duration kFirstPause = Duration::milliseconds(500);
constexpr Duration kConnectPatience = Duration::seconds(5);

}  // namespace

void Link::open(os::Poller& poller, Hooks hooks) {
  poller_ = &poller;
  hooks_ = std::move(hooks);
  retry_ = Instant::at(0);
  pause_ = kFirstPause;
}

Instant Link::next_event() const {
  if (poller_ == nullptr) return Instant::never();
  if (state_ == State::connected) return std::min(pipeline_.deadline(), idle_end());
  if (state_ == State::connecting) return connect_end_;
  const bool is_wanted = kind_ == Kind::permanent || !pipeline_.is_idle();
  return is_wanted ? retry_ : Instant::never();
}

Instant Link::idle_end() const {
  if (kind_ == Kind::permanent || !pipeline_.is_idle()) return Instant::never();
  return closes_when_idle_ ? used_ : used_ + kIdleMax;
}

void Link::advance(Instant now) {
  if (poller_ == nullptr) return;
  if (!pipeline_.is_idle()) used_ = now;
  const bool is_wanted = kind_ == Kind::permanent || !pipeline_.is_idle();
  if (state_ == State::closed && is_wanted && now >= retry_) begin_connect(now);
  if (state_ == State::connecting && now >= connect_end_) {
    lose(now, "cannot connect to " + address_.name() + ": " + std::strerror(ETIMEDOUT));
  }
  if (state_ == State::connected && now >= pipeline_.deadline()) {
    lose(now, "the server did not answer in time");
  }
  if (state_ == State::connected && now >= idle_end()) {
    poller_->remove(source_);
    close();
    pipeline_.lose();
    return;
  }
  if (state_ == State::connected) send(now);
}

void Link::begin_connect(Instant now) {
  std::string error;
  socket_ = address_.begin_connect(endpoint_, error);
  if (!socket_) {
    lose(now, error);
    return;
  }
  source_ = os::EventSource(handler_, socket_.get());
  state_ = State::connecting;
  connect_end_ = now + kConnectPatience;
  if (!poller_->add(source_, EPOLLOUT)) lose(now, "out of memory for a connection");
}

void Link::end_connect(Instant now) {
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) {
    lose(now, "cannot connect to " + address_.name() + ": " + std::strerror(error));
    return;
  }
  state_ = State::connected;
  poller_->change(source_, EPOLLIN);
  hooks_.opened(now);
}

void Link::handle(os::EventSource&, std::uint32_t events) {
  // The clock of the turn was read before it waited.
  const Instant now = os::read_clock();
  if (state_ == State::connecting) {
    end_connect(now);
    return;
  }
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) receive(now);
  if (state_ == State::connected) send(now);
}

void Link::send(Instant now) {
  while (true) {
    const std::string_view output = pipeline_.output(now);
    if (output.empty()) {
      poller_->change(source_, EPOLLIN);
      return;
    }
    const ssize_t sent = ::send(socket_.get(), output.data(), output.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) {
      poller_->change(source_, EPOLLIN | EPOLLOUT);
      return;
    }
    if (sent < 0) {
      lose(now, std::string("cannot send: ") + std::strerror(errno));
      return;
    }
    pipeline_.sent(static_cast<std::size_t>(sent));
  }
}

void Link::receive(Instant now) {
  const ssize_t count = ::recv(socket_.get(), buffer_.data(), buffer_.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) {
    lose(now, count == 0 ? "the server closed the connection"
                         : std::string("cannot receive: ") + std::strerror(errno));
    return;
  }
  const std::string_view bytes(buffer_.data(), static_cast<std::size_t>(count));
  if (!pipeline_.receive(bytes, now)) {
    lose(now, "not a beanstalk server; it sent: " + tool::safe_word(pipeline_.words()));
    return;
  }
  // The server answers, so the next pause is short again.
  pause_ = kFirstPause;
}

void Link::lose(Instant now, const std::string& reason) {
  const bool was_connected = state_ == State::connected;
  if (state_ != State::closed) poller_->remove(source_);
  close();
  endpoint_ = (endpoint_ + 1) % address_.endpoints();
  // Other addresses of the host are tried at once.
  retry_ = endpoint_ != 0 || kind_ == Kind::on_demand ? now : now + pause_;
  if (endpoint_ == 0) pause_ = std::min(kPauseMax, Duration::nanoseconds(pause_.count() * 2));
  // Questions wait until all addresses were tried.
  if (endpoint_ != 0 && !was_connected) return;
  pipeline_.lose();
  hooks_.lost(now, reason);
}

void Link::close() {
  state_ = State::closed;
  closes_when_idle_ = false;
  socket_.reset();
}

}  // namespace haricot::web
