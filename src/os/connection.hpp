// A connection: the socket around a session.
//
// A connection moves bytes and knows for which events it has to be watched. The session knows what
// the bytes mean. A connection reads and sends a bounded amount in a turn, so that it does not keep
// the others waiting.

#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "haricot/base/check.hpp"
#include "haricot/base/time.hpp"
#include "haricot/service/service.hpp"
#include "os/descriptor.hpp"
#include "os/poller.hpp"
#include "os/send_shares.hpp"

namespace haricot::os {

class Connection : public EventSource {
 public:
  // The handler outlives the connection.
  Connection(const EventHandler& handler_of, Descriptor socket)
      : EventSource(handler_of, socket.get()), socket_(std::move(socket)) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Requires: called once, before anything else.
  void attach(Session& session) {
    CHECK(session_ == nullptr);
    session_ = &session;
  }
  Session& session() { return *session_; }
  // For ServerInfo::address_of, of a session whose owner is a connection.
  static std::string address_of(const void* connection);

  enum class Result : std::uint8_t { open, broken };

  // Reads a bounded amount and gives the bytes to the service. `scratch` is used during the call
  // only.
  Result read(Service& service, std::span<char> scratch, Instant now);
  // Sends what may be sent, as much as the turn allows. What is left stays in the session.
  Result send(Service& service, SendShares& shares);
  // The peer has closed its writing side. Bytes that the peer sent before may still be unread.
  void mark_half_closed(Service& service);
  // The events for which the connection has to be watched now.
  std::uint32_t wanted_events() const;

 private:
  // How much of large bodies a turn takes at most.
  static constexpr std::size_t kDirectBytesMax = 256 * 1024;

  // Where the last body was large, a read takes this much at first: room for a line. A body below
  // that limit costs less to copy than a second system call.
  static constexpr std::size_t kHeadBytes = 512;
  static constexpr std::size_t kLargeBodyBytesMin = 24 * 1024;
  static_assert(kHeadBytes < kLargeBodyBytesMin);

  Result read_once(Service& service, std::span<char> scratch, Instant now, std::size_t& left,
                   bool& filled);
  ssize_t send_part(const Output& output, std::size_t bytes_max, std::size_t& tried) const;

  Descriptor socket_;
  Session* session_ = nullptr;
  bool send_again_ = false;  // The last send left something that may be sent.
};
static_assert(sizeof(Connection) <= 40, "every idle connection pays for one");

}  // namespace haricot::os
