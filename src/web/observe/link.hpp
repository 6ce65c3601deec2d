// The connection to one server, which may close and reopen. Never blocks.
//
// A permanent connection that is lost or cannot be made is retried after a growing pause. A
// connection on demand is made for a question, and closed after it has been idle.

#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "haricot/base/time.hpp"
#include "os/descriptor.hpp"
#include "os/poller.hpp"
#include "tool/client/address.hpp"
#include "web/observe/pipeline.hpp"

namespace haricot::web {

class Link final {
 public:
  // Longest pause between two connects.
  static constexpr Duration kPauseMax = Duration::seconds(10);

  // Time until an idle connection on demand is closed.
  static constexpr Duration kIdleMax = Duration::seconds(5);

  enum class Kind : unsigned char { permanent, on_demand };

  struct Hooks {
    std::function<void(Instant now)> opened;
    // Called after all questions were answered with null.
    std::function<void(Instant now, const std::string& reason)> lost;
  };

  // Borrows all arguments, which must outlive the object. `buffer` is the receive buffer.
  Link(Kind kind, const tool::Address& address, Pipeline& pipeline, std::span<char> buffer)
      : kind_(kind),
        address_(address),
        pipeline_(pipeline),
        buffer_(buffer),
        handler_(os::EventHandler::to<&Link::handle>(*this)),
        source_(handler_, -1) {}
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Starts the link, which connects at the next advance(). `poller` must outlive it.
  void open(os::Poller& poller, Hooks hooks);
  // Closes the connection. Must be called after the last turn.
  void close();
  bool is_connected() const { return state_ == State::connected; }
  // Closes a connection on demand as soon as it is idle.
  void close_when_idle() { closes_when_idle_ = true; }

  Instant next_event() const;
  // Connects, sends pending output, and closes a connection whose server is late.
  void advance(Instant now);

 private:
  enum class State : unsigned char { closed, connecting, connected };

  void handle(os::EventSource& source, std::uint32_t events);
  void begin_connect(Instant now);
  void end_connect(Instant now);
  void send(Instant now);
  void receive(Instant now);
  void lose(Instant now, const std::string& reason);

  // Returns the deadline of an idle connection on demand.
  Instant idle_end() const;

  Kind kind_;
  const tool::Address& address_;
  Pipeline& pipeline_;
  std::span<char> buffer_;
  os::EventHandler handler_;
  os::EventSource source_;
  os::Poller* poller_ = nullptr;
  Hooks hooks_;
  State state_ = State::closed;
  os::Descriptor socket_;
  std::size_t endpoint_ = 0;  // Address of the host that is tried, now or next.
  Instant retry_;             // Time of the next connect, while closed.
  Instant connect_end_;       // Deadline of the current connect.
  Duration pause_;
  Instant used_;  // Last time with pending questions.
  bool closes_when_idle_ = false;
};

}  // namespace haricot::web
