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

// Returns true if the line can be the beginning of an answer of a beanstalk server, such as "OK 4".
bool begins_answer(std::string_view line) {
  constexpr std::string_view kBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789 \r";
  return line.find_first_not_of(kBytes) == std::string_view::npos;
}

}  // namespace

std::string to_sentence(const Loss& loss, std::string_view late, std::string_view name) {
  switch (loss.kind) {
    case Loss::Kind::failed:
      return loss.text;
    case Loss::Kind::closed:
      return "the server closed the connection" +
             (name.empty() ? std::string() : " during " + std::string(name));
    case Loss::Kind::late:
      return std::string(late);
    case Loss::Kind::unasked:
      return (name.empty() ? "unexpected answer: " : std::string(name) + " was answered: ") +
             safe_word(loss.text);
    case Loss::Kind::foreign:
      return "not a beanstalk server; it sent: " +
             safe_word(std::string_view(loss.text).substr(0, kForeignBytesShown));
  }
  return {};
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
    if (!socket_) connect_end_ = now + patience_;
    int error = address_.connect(socket_, endpoint_);
    if (error == EAGAIN) {  // The queue of a unix socket is full.
      retry_ = now + kFullQueuePause;
      return;
    }
    if (error == 0 || error == EINPROGRESS) error = watch() ? 0 : ENOMEM;
    if (error == 0) return;
    end_attempt(error);
  }
  lose_by(now, "cannot connect to " + address_.name(), connect_error_);
}

// Proceeds to the next address of the host, because this one failed.
void Link::end_attempt(int error) {
  connect_error_ = error;
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

void Link::close() {
  unwatch();
  socket_.reset();
  state_ = State::closed;
  pipeline_.abort();
}

void Link::lose(Instant now, Loss::Kind kind, std::string text, int error) {
  Loss loss{kind, is_connected(), pipeline_.parser().is_in_answer(), std::move(text), error};
  const std::string_view line = pipeline_.parser().unfinished_line();
  if ((kind == Loss::Kind::closed || kind == Loss::Kind::late) && !begins_answer(line)) {
    loss.kind = Loss::Kind::foreign;
    loss.text = line;
  }
  close();
  if (hooks_.lost) hooks_.lost(now, loss);
}

void Link::lose_by(Instant now, const std::string& call, int error) {
  lose(now, Loss::Kind::failed, call + ": " + std::strerror(error), error);
}

os::Descriptor Link::release() {
  CHECK(is_connected() && pipeline_.is_idle());
  unwatch();
  os::Descriptor socket = std::move(socket_);
  close();
  return socket;
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
      return pipeline_.has_output() && !waits_for_room_ ? Instant::at(0) : pipeline_.deadline();
  }
  return Instant::never();
}

void Link::handle_source(os::EventSource& /*source*/, std::uint32_t events) {
  handle(events);
}

void Link::handle(std::uint32_t events) {
  if (!is_watched_ || events == 0) return;
  const Instant now = os::read_clock();
  if (state_ == State::connecting) return end_connect(now);
  if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) receive(now);
  if (is_connected()) send(now);
}

void Link::advance(Instant now) {
  if (state_ == State::connecting) {
    if (socket_ && now >= connect_end_) end_attempt(ETIMEDOUT);
    if (!is_watched_ && now >= retry_) try_endpoints(now);
  } else if (is_connected() && now >= pipeline_.deadline()) {
    lose(now, Loss::Kind::late, {});
  } else if (is_connected()) {
    send(now);
  }
}

void Link::send(Instant now) {
  std::array<std::string_view, kPiecesMax> pieces;
  while (const std::size_t count = pipeline_.gather(pieces, now)) {
    const ssize_t sent = send_pieces(socket_.get(), {pieces.data(), count});
    if (sent >= 0) {
      pipeline_.sent(static_cast<std::size_t>(sent), now);
    } else if (errno == EAGAIN) {
      return set_waits_for_room(true);
    } else if (errno != EINTR) {
      return lose_by(now, "cannot send", errno);
    }
  }
  set_waits_for_room(false);
}

void Link::receive(Instant now) {
  const ssize_t count = ::recv(socket_.get(), buffer_.data(), buffer_.size(), 0);
  if (count < 0) {
    if (errno != EAGAIN && errno != EINTR) lose_by(now, "cannot receive", errno);
    return;
  }
  if (count == 0) return lose(now, Loss::Kind::closed, {});
  const Pipeline::Read read =
      pipeline_.receive({buffer_.data(), static_cast<std::size_t>(count)}, now);
  if (read == Pipeline::Read::foreign) lose(now, Loss::Kind::foreign, pipeline_.line());
  if (read == Pipeline::Read::unasked) lose(now, Loss::Kind::unasked, pipeline_.line());
}

}  // namespace haricot::tool
