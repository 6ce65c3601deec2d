#include "os/connection.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "haricot/base/memory.hpp"
#include "os/address.hpp"

namespace haricot::os {
namespace {

bool is_passing(int error) {
  return error == EAGAIN || error == EINTR;
}

}  // namespace

// Input that begins with the line of a large put is best received in two reads: a few bytes with
// the line, and then the body directly into the memory of its job, together with the next line. The
// last body is used to predict this. If the prediction is wrong, the second read is an ordinary
// one.
//
// While the memory limit is reached, a read takes only a line or two, because the session may have
// to store input that it cannot run.
Connection::Result Connection::read(Service& service, std::span<char> scratch, Instant now) {
  std::size_t left = kDirectBytesMax;
  bool is_guess = true;
  while (true) {
    is_guess = is_guess && session_->last_body_bytes() >= kLargeBodyBytesMin;
    bool filled = true;
    const bool is_body = !session_->direct_space().empty();
    const bool is_short = is_guess || Memory::is_at_limit();
    const Result result =
        read_once(service, is_short ? scratch.first(kHeadBytes) : scratch, now, left, filled);
    const bool is_over = result == Result::broken || !filled || left == 0;
    if (is_over || !is_guess || !session_->wants_input()) return result;
    // After a body another line may come. After a line without a body, the prediction was wrong.
    if (session_->direct_space().empty()) is_guess = is_body;
  }
}

// Reads a large body directly into the memory of its job, at most `left` bytes, and the bytes after
// it into the scratch buffer, in one call. Sets `filled` to true if all room was used.
Connection::Result Connection::read_once(Service& service, std::span<char> scratch, Instant now,
                                         std::size_t& left, bool& filled) {
  const std::span<char> direct = session_->direct_space();
  ssize_t result = 0;
  std::size_t direct_bytes = 0;
  if (direct.empty()) {
    result = ::recv(socket_.get(), scratch.data(), scratch.size(), 0);
  } else {
    direct_bytes = std::min(direct.size(), left);
    const bool whole = direct_bytes == direct.size();
    std::array<iovec, 2> pieces{iovec{direct.data(), direct_bytes},
                                iovec{scratch.data(), scratch.size()}};
    result = ::readv(socket_.get(), pieces.data(), whole ? 2 : 1);
  }
  if (result <= 0) filled = false;
  if (result < 0) return is_passing(errno) ? Result::open : Result::broken;
  if (result == 0) {
    service.end_of_input(*session_);
    return Result::open;
  }
  const auto bytes = static_cast<std::size_t>(result);
  filled = bytes >= direct_bytes + scratch.size();
  direct_bytes = std::min(direct_bytes, bytes);
  left -= direct_bytes;
  if (direct_bytes > 0) service.receive_directly(*session_, direct_bytes);
  if (bytes > direct_bytes) {
    service.receive(*session_, std::string_view(scratch.data(), bytes - direct_bytes), now);
  }
  return Result::open;
}

// Sends a bounded amount, because a client that reads as fast as the server sends would otherwise
// block the others until its large body is sent.
Connection::Result Connection::send(Service& service, SendShares& shares) {
  send_again_ = false;
  const std::size_t share = shares.next(session_->output().pending_bytes());
  std::size_t left = share;
  while (session_->has_output() && session_->may_send()) {
    if (left == 0) {
      send_again_ = true;
      break;
    }
    std::size_t tried = 0;
    const ssize_t result = send_part(session_->output(), left, tried);
    if (result < 0 && !is_passing(errno)) return Result::broken;
    const std::size_t sent = result < 0 ? 0 : static_cast<std::size_t>(result);
    CHECK(tried > 0 && tried <= left);  // Otherwise this would not end.
    service.sent(*session_, sent);
    left -= sent;
    if (sent < tried) {
      send_again_ = true;
      break;
    }
  }
  shares.took(share - left, left == 0);
  return Result::open;
}

// Sends as much output as one system call takes, and returns its result. Usually the output is one
// piece, for which send() costs less than sendmsg().
ssize_t Connection::send_part(const Output& output, std::size_t bytes_max,
                              std::size_t& tried) const {
  constexpr std::size_t kPiecesMax = 64;
  if (const std::string_view bytes = output.single_piece(); !bytes.empty()) {
    tried = std::min(bytes.size(), bytes_max);
    return ::send(socket_.get(), bytes.data(), tried, MSG_NOSIGNAL);
  }
  std::array<std::string_view, kPiecesMax> pieces;
  std::array<iovec, kPiecesMax> vectors;
  const std::size_t gathered = output.gather(pieces);
  std::size_t count = 0;
  for (; count < gathered && tried < bytes_max; ++count) {
    const std::size_t bytes = std::min(pieces[count].size(), bytes_max - tried);
    vectors[count] = iovec{const_cast<char*>(pieces[count].data()), bytes};
    tried += bytes;
  }
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = count;
  return ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
}

std::string Connection::address_of(const void* connection) {
  return peer_name(static_cast<const Connection*>(connection)->descriptor);
}

void Connection::mark_half_closed(Service& service) {
  service.peer_half_closed(*session_);
}

// In the steady state this does not change, so no system call is needed. EPOLLIN includes a
// half-close, so EPOLLRDHUP is only requested without it, and only until it has come once: it
// remains set, and would wake the event loop continuously until the peer reads its answers.
std::uint32_t Connection::wanted_events() const {
  std::uint32_t events = 0;
  if (session_->wants_input()) {
    events = EPOLLIN;
  } else if (session_->peer_may_write()) {
    events = EPOLLRDHUP;
  }
  if (send_again_) events |= EPOLLOUT;
  return events;
}

}  // namespace haricot::os
