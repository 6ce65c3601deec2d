// The connection to one server: pipelined questions and their answers, as bytes and over a socket.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "haricot/base/time.hpp"
#include "os/descriptor.hpp"
#include "os/poller.hpp"
#include "tool/client/address.hpp"
#include "tool/client/answer_parser.hpp"

namespace haricot::web {

struct Question {
  // Default time limit for an answer.
  static constexpr Duration kPatience = Duration::seconds(5);

  std::string command;  // A line with its CR LF, and perhaps a body with its own.
  // Gets the answer, which is valid during the call; null if the connection was lost.
  std::function<void(const tool::Answer*)> take;
  // Bytes of a body or report to store.
  std::uint64_t body_bytes_max = std::numeric_limits<std::uint64_t>::max();
  Duration patience = kPatience;
  // Number of following questions that need the tube of this `use`. They are sent only if the `use`
  // succeeds; otherwise they are answered with its answer.
  std::size_t followers = 0;
};

// Questions to one server and its answers, as bytes. It has no socket and no clock.
class Pipeline final {
 public:
  static constexpr std::size_t kUnderWayMax = 64;
  static constexpr std::size_t kWaitingMax = 8192;

  // Requires: can_ask(1).
  void ask(Question question);
  bool can_ask(std::size_t questions) const { return waiting_.size() + questions <= kWaitingMax; }
  // Returns true if a question would be sent at once.
  bool has_room() const { return under_way_.size() + waiting_.size() < kUnderWayMax; }
  bool is_idle() const { return under_way_.empty() && waiting_.empty(); }

  // Returns the bytes to send. Valid until the next call of another method.
  std::string_view output(Instant now);
  void sent(std::size_t bytes);

  // Parses bytes from the server and answers questions. Returns false if the server does not speak
  // the protocol; malformed_bytes() then has its bytes, and only abort() may follow.
  [[nodiscard]] bool receive(std::string_view bytes, Instant now);
  const std::string& malformed_bytes() const { return malformed_bytes_; }

  // Returns the time of the last received bytes.
  Instant received() const { return received_; }

  // Returns the time at which the next answer is late.
  Instant deadline() const { return under_way_.empty() ? Instant::never() : deadline_; }
  // Answers all questions with null, because the connection is lost. Questions that are asked
  // meanwhile belong to the next connection.
  void abort();

 private:
  void start_some(Instant now);
  bool take_answer(std::string_view& bytes, Instant now);

  std::deque<Question> waiting_;
  std::deque<Question> under_way_;
  std::string output_;
  std::size_t sent_ = 0;  // Bytes of output_ that were sent.
  tool::AnswerParser parser_;
  bool is_in_answer_ = false;
  bool waits_for_use_ = false;   // Nothing is sent until the `use` is answered.
  std::size_t bytes_since_ = 0;  // Received since the deadline was set.
  Instant deadline_;
  Instant received_;
  std::string malformed_bytes_;
};

// The socket of a pipeline, which may close and reopen. Never blocks.
//
// A permanent connection that is lost or cannot be made is retried after a growing pause. A
// connection on demand is made for a question, and closed after it has been idle.
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
  void disconnect(Instant now, const std::string& reason);

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
