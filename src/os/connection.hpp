// Connections: the sockets of sessions, and the number of bytes that each may send in a turn.

#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "haricot/base/check.hpp"
#include "haricot/base/time.hpp"
#include "haricot/base/turn_limits.hpp"
#include "haricot/service/service.hpp"
#include "os/descriptor.hpp"
#include "os/poller.hpp"

namespace haricot::os {

// Number of bytes that each connection may send in a turn. If few connections send, each may send
// much. Many connections with large output share a bounded amount, so that a turn does not take as
// long as all of their sends together.
class SendShares {
 public:
  // Maximum for one connection: less than a millisecond for the kernel.
  static constexpr std::size_t kBytesMax = turn_limits::kSentBytes;
  // Minimum for each connection that sends in a turn. An answer up to this size never waits.
  static constexpr std::size_t kBytesMin = turn_limits::kSentBytesMin;
  // Bytes for all connections that send more than the minimum, in a turn.
  static constexpr std::size_t kBytesOfAllMax = turn_limits::kSentBytesOfAll;

  void begin_turn() {
    const std::size_t share = kBytesOfAllMax / std::max(cut_short_, std::size_t{1});
    share_ = std::clamp(share, kBytesMin, kBytesMax);
    cut_short_ = 0;
    left_ = kBytesOfAllMax;
  }
  // Returns the number of bytes that the next connection may send, which has `pending` bytes. It is
  // equal for all connections that wait since the last turn, until the turn's bytes are used up.
  // Afterwards it is 0, except for small answers; their number is bounded by the commands of a
  // turn.
  std::size_t next(std::size_t pending) const {
    if (left_ == 0 && pending > kBytesMin) return 0;
    return std::max(std::min(share_, left_), kBytesMin);
  }
  // Counts the bytes that a connection has sent. `was_cut_short`: the limit has stopped it.
  void took(std::size_t bytes, bool was_cut_short) {
    left_ -= std::min(bytes, left_);
    if (was_cut_short) ++cut_short_;
  }

 private:
  std::size_t share_ = kBytesMax;
  std::size_t left_ = kBytesOfAllMax;
  std::size_t cut_short_ = 0;  // Number of connections that were cut short in this turn.
};

// The socket of a session. The connection moves bytes and knows which events to watch; the session
// interprets the bytes. A connection reads and sends a bounded amount in a turn, so that it does
// not delay the others.
class Connection : public EventSource {
 public:
  // Requires: the handler outlives the connection.
  Connection(const EventHandler& handler_of, Descriptor socket)
      : EventSource(handler_of, socket.get()), socket_(std::move(socket)) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Called once, before any other function.
  void attach(Session& session) {
    CHECK(session_ == nullptr);
    session_ = &session;
  }
  Session& session() { return *session_; }
  // The value of ServerInfo::address_of for sessions whose owner is a connection.
  static std::string address_of(const void* connection);

  enum class Result : std::uint8_t { open, broken };

  // Reads a bounded amount and passes the bytes to the service. `scratch` is used during the call
  // only.
  Result read(Service& service, std::span<char> scratch, Instant now);
  // Sends output that may be sent, up to the limit of the turn. The rest stays in the session.
  Result send(Service& service, SendShares& shares);
  // Makes the connection send as soon as its socket has room, and close a finished session then.
  // Called for a session that was taken over, so that the events of a turn bound the number of such
  // sends.
  void expect_output() { send_again_ = true; }
  // Called when the peer has closed its writing side. Earlier bytes of the peer may still be
  // unread.
  void mark_half_closed(Service& service);
  // Returns the events to watch now.
  std::uint32_t wanted_events() const;

 private:
  // Bytes of large bodies that a turn reads at most.
  static constexpr std::size_t kDirectBytesMax = 256 * 1024;

  // Bytes of the first recv after a large body, enough for a command line. A body below
  // kLargeBodyBytesMin costs less to copy than a second system call.
  static constexpr std::size_t kHeadBytes = 512;
  static constexpr std::size_t kLargeBodyBytesMin = 24 * 1024;
  static_assert(kHeadBytes < kLargeBodyBytesMin);

  Result read_once(Service& service, std::span<char> scratch, Instant now, std::size_t& left,
                   bool& filled);
  ssize_t send_part(const Output& output, std::size_t bytes_max, std::size_t& tried) const;

  Descriptor socket_;
  Session* session_ = nullptr;
  bool send_again_ = false;  // The last send has left bytes that may be sent.
};
static_assert(sizeof(Connection) <= 40, "every idle connection pays for one");

}  // namespace haricot::os
