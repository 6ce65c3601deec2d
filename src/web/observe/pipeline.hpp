// Questions to one server, and its answers: many under way at once on one connection, as bytes.
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
  // How long a server may take for an answer.
  static constexpr Duration kPatience = Duration::seconds(5);

  std::string command;  // A line with its CR LF, and perhaps a body with its own.
  // Gets the answer, which is valid during the call; null: the connection was lost before.
  std::function<void(const tool::Answer*)> take;
  // So much of a body or a report is kept.
  std::uint64_t body_bytes_max = std::numeric_limits<std::uint64_t>::max();
  Duration patience = kPatience;
  // Of a `use`: so many questions that are asked right behind it are for its tube. They go out when
  // the server uses that tube; otherwise none does, and the answer to the `use` is theirs too.
  std::size_t followers = 0;
};

class Pipeline final {
 public:
  static constexpr std::size_t kUnderWayMax = 64;
  static constexpr std::size_t kWaitingMax = 8192;

  // Requires: can_ask().
  void ask(Question question);
  bool can_ask(std::size_t questions) const { return waiting_.size() + questions <= kWaitingMax; }
  // Returns true if a question would go out at once.
  bool has_room() const { return under_way_.size() + waiting_.size() < kUnderWayMax; }
  bool is_idle() const { return under_way_.empty() && waiting_.empty(); }

  // What is to be sent. Valid until the next call of another method.
  std::string_view output(Instant now);
  void sent(std::size_t bytes);

  // Takes what the server has said, and hands its answers over. False: it is no server that speaks
  // the protocol, and words() is what it says; nothing but lose() may follow.
  [[nodiscard]] bool receive(std::string_view bytes, Instant now);
  const std::string& words() const { return words_; }

  // When the last bytes came.
  Instant received() const { return received_; }

  // When the server is too late with the answer that is due.
  Instant deadline() const { return under_way_.empty() ? Instant::never() : deadline_; }
  // The connection is gone: all questions are answered with null. Those that are asked meanwhile
  // are for the next connection.
  void lose();

 private:
  void start_some(Instant now);
  bool take_answer(std::string_view& bytes, Instant now);

  std::deque<Question> waiting_;
  std::deque<Question> under_way_;
  std::string output_;
  std::size_t sent_ = 0;  // Of the output.
  tool::AnswerParser parser_;
  bool is_in_answer_ = false;
  bool waits_for_use_ = false;   // Nothing goes out until that is answered.
  std::size_t bytes_since_ = 0;  // Received since the deadline was set.
  Instant deadline_;
  Instant received_;
  std::string words_;
};

}  // namespace haricot::web
