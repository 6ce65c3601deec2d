// Pipelined questions to one server and its answers, as bytes.
//
// It has no socket and no clock.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

#include "haricot/base/time.hpp"
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
  // the protocol; words() then has its bytes, and only lose() may follow.
  [[nodiscard]] bool receive(std::string_view bytes, Instant now);
  const std::string& words() const { return words_; }

  // Returns the time of the last received bytes.
  Instant received() const { return received_; }

  // Returns the time at which the next answer is late.
  Instant deadline() const { return under_way_.empty() ? Instant::never() : deadline_; }
  // Answers all questions with null, because the connection is lost. Questions that are asked
  // meanwhile belong to the next connection.
  void lose();

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
  std::string words_;
};

}  // namespace haricot::web
