#include "os/connection.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

namespace haricot::os {
namespace {

bool is_passing(int error) {
  return error == EAGAIN || error == EINTR;
}

}  // namespace

// A large body that is under way goes straight to its place, and what comes behind it into the
// scratch buffer, in one call.
Connection::Result Connection::read(Service& service, std::span<char> scratch, Instant now) {
  const std::span<char> direct = session_->direct_space();
  ssize_t result = 0;
  std::size_t direct_bytes = 0;
  if (direct.empty()) {
    result = ::recv(socket_.get(), scratch.data(), scratch.size(), 0);
  } else {
    direct_bytes = std::min(direct.size(), kDirectBytesMax);
    const bool whole = direct_bytes == direct.size();
    std::array<iovec, 2> pieces{iovec{direct.data(), direct_bytes},
                                iovec{scratch.data(), scratch.size()}};
    result = ::readv(socket_.get(), pieces.data(), whole ? 2 : 1);
  }
  if (result < 0) return is_passing(errno) ? Result::open : Result::broken;
  if (result == 0) {
    input_ended_ = true;
    service.end_of_input(*session_, now);
    return Result::open;
  }
  const auto bytes = static_cast<std::size_t>(result);
  direct_bytes = std::min(direct_bytes, bytes);
  if (direct_bytes > 0) service.receive_directly(*session_, direct_bytes);
  if (bytes > direct_bytes) {
    service.receive(*session_, std::string_view(scratch.data(), bytes - direct_bytes), now);
  }
  return Result::open;
}

Connection::Result Connection::send(Service& service) {
  constexpr std::size_t kPiecesMax = 64;
  peer_is_slow_ = false;
  while (session_->has_output() && session_->may_send()) {
    std::array<std::string_view, kPiecesMax> pieces;
    const std::size_t count = session_->output().gather(pieces);
    std::array<iovec, kPiecesMax> vectors;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) {
      vectors[i] = iovec{const_cast<char*>(pieces[i].data()), pieces[i].size()};
      bytes += pieces[i].size();
    }
    msghdr message{};
    message.msg_iov = vectors.data();
    message.msg_iovlen = count;
    const ssize_t result = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (result < 0 && !is_passing(errno)) return Result::broken;
    const std::size_t sent = result < 0 ? 0 : static_cast<std::size_t>(result);
    service.sent(*session_, sent);
    if (sent < bytes) {
      peer_is_slow_ = true;
      break;
    }
  }
  return Result::open;
}

void Connection::note_half_close(Service& service) {
  half_closed_ = true;
  service.peer_half_closed(*session_);
}

// In the steady state always the same: no system call changes it. A half-close shows as input, and
// has to be asked for only where no input is. It stays, so it is asked for only once: else it would
// wake the loop all the time until the peer reads its answers.
std::uint32_t Connection::wanted_events() const {
  std::uint32_t events = 0;
  if (!input_ended_ && session_->wants_input()) {
    events = EPOLLIN;
  } else if (!input_ended_ && !half_closed_) {
    events = EPOLLRDHUP;
  }
  if (peer_is_slow_) events |= EPOLLOUT;
  return events;
}

}  // namespace haricot::os
