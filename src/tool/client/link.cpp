#include "tool/client/link.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/protocol/reply.hpp"
#include "os/clock.hpp"
#include "tool/cli/output.hpp"

namespace haricot::tool {
namespace {

static_assert(POLLIN == EPOLLIN && POLLOUT == EPOLLOUT && POLLERR == EPOLLERR &&
              POLLHUP == EPOLLHUP);

constexpr std::size_t kForeignBytesShown = 60;
constexpr std::size_t kPiecesMax = 16;  // Sent with one call.
// Pause before a unix socket whose queue is full is tried again.
constexpr Duration kFullQueuePause = Duration::milliseconds(5);

// Sends the pieces with one call.
ssize_t send_pieces(int socket, std::span<const std::string_view> pieces) {
  if (pieces.size() == 1) {
    return ::send(socket, pieces[0].data(), pieces[0].size(), MSG_NOSIGNAL);
  }
  std::array<iovec, kPiecesMax> vectors;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    vectors[i] = {const_cast<char*>(pieces[i].data()), pieces[i].size()};
  }
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = pieces.size();
  return ::sendmsg(socket, &message, MSG_NOSIGNAL);
}

Loss failure_of(const char* call, int error) {
  return {.kind = Loss::Kind::failed, .text = std::string(call) + ": " + std::strerror(error)};
}

}  // namespace

std::string_view first_line(std::string_view words) {
  std::string_view line = words.substr(0, words.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string shown_words(std::string_view words) {
  return safe_word(words.substr(0, kForeignBytesShown));
}

std::string to_sentence(const Loss& loss, std::string_view late) {
  std::string_view words = loss.text;
  switch (loss.kind) {
    case Loss::Kind::unreachable:
    case Loss::Kind::failed:
      return loss.text;
    case Loss::Kind::closed:
      return "the server closed the connection";
    case Loss::Kind::late:
      return std::string(late);
    case Loss::Kind::unasked: {
      words = first_line(words);
      ReplyLine reply;
      if (read_reply_line(words, reply)) return "unexpected answer: " + std::string(words);
      break;
    }
    case Loss::Kind::foreign:
      break;
  }
  return "not a beanstalk server; it sent: " + shown_words(words);
}

Link::Link(const Address& address, std::span<char> buffer, Hooks hooks, std::uint64_t answers_max)
    : address_(address),
      buffer_(buffer),
      hooks_(std::move(hooks)),
      pipeline_(answers_max),
      handler_(os::EventHandler::to<&Link::handle_source>(*this)),
      source_(handler_, -1) {}

Link::~Link() {
  unwatch();
}

// Connecting --------------------------------------------------------------------------------------

void Link::open(Duration patience, Instant now) {
  CHECK(!is_open());
  state_ = State::connecting;
  patience_ = patience;
  endpoint_ = 0;
  retry_ = now;
}

// Tries the addresses of the host in turn, until one may accept the connection.
void Link::try_endpoints(Instant now) {
  while (endpoint_ < address_.endpoints()) {
    if (!socket_) {
      socket_ = address_.make_socket(endpoint_);
      connect_end_ = now + patience_;
    }
    if (!socket_) {
      attempt_loss_ = failure_of("cannot create a socket", errno);
      ++endpoint_;
      continue;
    }
    const int error = address_.connect(socket_, endpoint_);
    if (error == EAGAIN) {  // The queue of a unix socket is full.
      retry_ = now + kFullQueuePause;
      return;
    }
    if (error == 0 || error == EINPROGRESS) {
      if (watch()) return;
      attempt_loss_ = {.kind = Loss::Kind::failed, .text = "out of memory for a connection"};
      socket_.reset();
      ++endpoint_;
    } else {
      end_attempt(error);
    }
  }
  lose(now, attempt_loss_);
}

// Proceeds to the next address of the host, because this one failed.
void Link::end_attempt(int error) {
  attempt_loss_ = {.kind = Loss::Kind::unreachable,
                   .text = "cannot connect to " + address_.name() + ": " + std::strerror(error)};
  unwatch();
  socket_.reset();
  ++endpoint_;
}

// Returns false if the poller has no memory.
bool Link::watch() {
  waits_for_room_ = true;  // A connected socket becomes writable.
  if (poller_ != nullptr) {
    source_ = os::EventSource(handler_, socket_.get());
    if (!poller_->add(source_, EPOLLOUT)) return false;
  }
  is_watched_ = true;
  return true;
}

void Link::unwatch() {
  if (is_watched_ && poller_ != nullptr) poller_->remove(source_);
  is_watched_ = false;
}

void Link::end_connect(Instant now) {
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) {
    end_attempt(error);
    try_endpoints(now);
    return;
  }
  state_ = State::connected;
  set_waits_for_room(false);
  if (hooks_.opened) hooks_.opened(now);
}

// The connection ----------------------------------------------------------------------------------

void Link::drop_connection() {
  unwatch();
  socket_.reset();
  state_ = State::closed;
  send_error_ = 0;
}

void Link::close() {
  drop_connection();
  pipeline_.abort();
}

void Link::lose(Instant now, Loss loss) {
  loss.was_in_answer = pipeline_.is_in_answer();
  close();
  if (hooks_.lost) hooks_.lost(now, loss);
}

void Link::lose_as_late(Instant now) {
  lose(now, {.kind = Loss::Kind::late, .text = std::string(pipeline_.unfinished_line())});
}

os::Descriptor Link::release() {
  CHECK(is_connected() && pipeline_.is_idle());
  unwatch();
  os::Descriptor socket = std::move(socket_);
  close();
  return socket;
}

void Link::ask(Request& request, Instant now) {
  pipeline_.ask(request);
  if (is_connected() && !is_handling_) send(now);
}

short Link::wanted_events() const {
  if (state_ == State::connecting) return POLLOUT;
  return static_cast<short>(waits_for_room_ ? POLLIN | POLLOUT : POLLIN);
}

void Link::set_waits_for_room(bool waits) {
  waits_for_room_ = waits;
  if (poller_ != nullptr) poller_->change(source_, waits ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

Instant Link::next_event() const {
  switch (state_) {
    case State::closed:
      return Instant::never();
    case State::connecting:
      return is_watched_ ? connect_end_ : retry_;
    case State::connected:
      return send_error_ != 0 ? Instant::at(0) : pipeline_.deadline();
  }
  return Instant::never();
}

void Link::handle_source(os::EventSource& /*source*/, std::uint32_t events) {
  handle(events);
}

void Link::handle(std::uint32_t events) {
  if (!is_watched_ || events == 0) return;
  const Instant now = os::read_clock();
  if (state_ == State::connecting) {
    end_connect(now);
    return;
  }
  is_handling_ = true;
  if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) receive(now);
  is_handling_ = false;
  if (is_connected()) send(now);
}

void Link::advance(Instant now) {
  if (state_ == State::connecting) {
    if (socket_ && now >= connect_end_) end_attempt(ETIMEDOUT);
    if (!is_watched_ && now >= retry_) try_endpoints(now);
    return;
  }
  if (!is_connected()) return;
  if (send_error_ != 0) {
    lose(now, failure_of("cannot send", send_error_));
  } else if (now >= pipeline_.deadline()) {
    lose_as_late(now);
  } else {
    send(now);
  }
}

void Link::send(Instant now) {
  std::array<std::string_view, kPiecesMax> pieces;
  while (send_error_ == 0) {
    const std::size_t count = pipeline_.gather(pieces, now);
    if (count == 0) return set_waits_for_room(false);
    const ssize_t sent = send_pieces(socket_.get(), {pieces.data(), count});
    if (sent >= 0) {
      pipeline_.sent(static_cast<std::size_t>(sent), now);
    } else if (errno == EAGAIN) {
      return set_waits_for_room(true);
    } else if (errno != EINTR) {
      send_error_ = errno;
    }
  }
}

void Link::receive(Instant now) {
  const ssize_t count = ::recv(socket_.get(), buffer_.data(), buffer_.size(), 0);
  if (count < 0) {
    if (errno != EAGAIN && errno != EINTR) lose(now, failure_of("cannot receive", errno));
    return;
  }
  if (count == 0) {
    lose(now, {.kind = Loss::Kind::closed, .text = std::string(pipeline_.unfinished_line())});
    return;
  }
  switch (pipeline_.receive({buffer_.data(), static_cast<std::size_t>(count)}, now)) {
    case Pipeline::Read::good:
      return;
    case Pipeline::Read::foreign:
      return lose(now, {.kind = Loss::Kind::foreign, .text = pipeline_.words()});
    case Pipeline::Read::unasked:
      return lose(now, {.kind = Loss::Kind::unasked, .text = pipeline_.words()});
  }
}

}  // namespace haricot::tool
