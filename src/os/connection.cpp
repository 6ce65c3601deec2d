#include "os/connection.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "haricot/base/check.hpp"
#include "haricot/base/memory.hpp"
#include "os/listener.hpp"

namespace haricot::os {
namespace {

bool is_passing(int error) {
  return error == EAGAIN || error == EINTR;
}

}  // namespace

// What begins with the line of a large put is best received in two: a few bytes with the line, and
// then the body straight into the memory of its job, together with the line of the next one. That
// this is going to be one is a guess by the last one; where it is wrong, what comes after the few
// bytes is what any read would have been.
//
// While the memory limit is reached, a read takes a line or two, because the session may have to
// keep what it cannot run.
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
    // After a body another line may come; after a line that began no body, it was a wrong guess.
    if (session_->direct_space().empty()) is_guess = is_body;
  }
}

// A large body that is under way goes straight into the memory of its job, as much as is left to
// this turn, and what comes after it into the scratch buffer, in one call. `filled`: as much came
// as there was room for.
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

// A client that reads as fast as we send would otherwise be served alone until a large body is all
// gone, so there is a limit to what one turn offers; the rest leaves in the next ones.
Connection::Result Connection::send(Service& service, SendShares& shares) {
  send_again_ = false;
  const std::size_t share = shares.next();
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
    CHECK(tried > 0 && tried <= left);  // Else this would never end.
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

// One system call for as much of the output as it takes; its result. Almost always the output is
// one piece, and for that send() costs less than sendmsg().
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

// In the steady state always the same: no system call changes it. A half-close shows as input, and
// has to be asked for only where no input is. It stays, so it is asked for only once: else it would
// wake the event loop all the time until the peer reads its answers.
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
