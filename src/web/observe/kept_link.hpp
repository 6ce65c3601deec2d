// The connections of the console to a server, which are made again and again.

#pragma once

#include <functional>
#include <span>
#include <string>

#include "haricot/base/time.hpp"
#include "os/poller.hpp"
#include "tool/client/address.hpp"
#include "tool/client/link.hpp"

namespace haricot::web {

// A link that opens and closes by itself.
//
// A permanent connection that is lost or cannot be made is retried after a growing pause. A
// connection on demand is made for a request, and closed after it has been idle.
class KeptLink final {
 public:
  // Largest number of answers under way; see tool::Pipeline.
  static constexpr std::uint64_t kAnswersMax = 64;
  // Longest pause between two connects.
  static constexpr Duration kPauseMax = Duration::seconds(10);
  // Time until an idle connection on demand is closed.
  static constexpr Duration kIdleMax = Duration::seconds(5);

  enum class Kind : unsigned char { permanent, on_demand };

  struct Hooks {
    std::function<void(Instant now)> opened = {};
    // Called after all requests were answered with null. The reason is safe to print.
    std::function<void(Instant now, const std::string& reason)> lost = {};
  };

  // Borrows the address and the receive buffer, which must outlive the object.
  KeptLink(Kind kind, const tool::Address& address, std::span<char> buffer, Hooks hooks);

  // Starts the link, which connects at the next advance(). `poller` must outlive it.
  void open(os::Poller& poller);
  // Closes the connection, and answers all pending requests with null. Must be called last.
  void close();
  bool is_connected() const { return link_.is_connected(); }
  // Closes a connection on demand as soon as it is idle.
  void close_when_idle() { closes_when_idle_ = true; }
  // Requests that are asked here are sent at the next advance().
  tool::Pipeline& pipeline() { return link_.pipeline(); }

  Instant next_event() const;
  // Connects, sends pending requests, and closes a connection whose server is late.
  void advance(Instant now);

 private:
  bool is_idle() const { return link_.pipeline().is_idle(); }
  bool is_wanted() const { return kind_ == Kind::permanent || !is_idle(); }
  // Returns the deadline of an idle connection on demand.
  Instant idle_end() const;
  void lost(Instant now, const tool::Loss& loss);

  Kind kind_;
  Hooks hooks_;
  tool::Link link_;
  bool is_started_ = false;
  Instant retry_;   // Time of the next connect, while closed.
  Instant opened_;  // Time of the last connect.
  Duration pause_;
  Instant used_;  // Last time with pending requests.
  bool closes_when_idle_ = false;
};

}  // namespace haricot::web
