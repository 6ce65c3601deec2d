// Parses answers of a server from a stream of bytes that may be cut anywhere.
//
// Made for clients with many commands: it copies a line only if the answer arrives in pieces, and
// compares a body with the expected one as it arrives. Bodies are stored only on request.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "haricot/protocol/reply.hpp"

namespace haricot::tool {

struct Answer {
  ReplyCode code = ReplyCode::none;
  std::uint64_t number = 0;      // A job's id, or a number of jobs or tubes.
  std::uint64_t body_bytes = 0;  // Length of the body or report.
  // True if the body equals the expected one, or if the answer has no body.
  bool body_matches = true;
  std::string_view line;  // Without CR LF. Valid until the next call, while the bytes exist.
  std::string_view body;  // Empty unless bodies are kept. Valid until the next call.
};

class AnswerParser {
 public:
  enum class Result : std::uint8_t {
    answer,     // answer() is the next answer.
    more,       // All bytes are taken, and the answer is not complete.
    malformed,  // Not the beanstalk protocol; the line of answer() has the beginning.
  };

  // Sets the body that every job should have; borrowed. By default only empty bodies match.
  void expect_body(std::string_view body) { expected_ = body; }
  // Drops a partial answer, for a new connection.
  void restart();
  // Stores bodies in Answer::body from the next answer on, at most `most` bytes of each;
  // Answer::body_bytes has the full length. May be called again between two answers.
  void keep_bodies(std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
    kept_bytes_max_ = most;
  }

  // Returns true if a part of an answer has arrived.
  bool is_in_answer() const { return in_body_ || !unfinished_line().empty(); }
  // Returns the part of a line that has arrived without its end; empty after a complete line.
  std::string_view unfinished_line() const {
    return kept_is_used_ ? std::string_view{} : std::string_view(kept_.data(), kept_bytes_);
  }

  // Takes bytes from the front, up to the end of the next answer. After `malformed` the parser must
  // not be used again.
  Result next(std::string_view& bytes);
  // Returns the result of the last next(), unless it was `more`.
  const Answer& answer() const { return current_; }

 private:
  Result take_line(std::string_view& bytes);
  bool read_line(std::string_view line);
  bool take_body(std::string_view& bytes);

  std::string_view expected_;
  Answer current_;
  bool in_body_ = false;
  std::uint64_t body_taken_ = 0;      // Bytes taken of the current body and its CR LF.
  std::uint64_t kept_bytes_max_ = 0;  // For each body.
  std::string kept_body_;
  std::array<char, kReplyLineBytesMax> kept_{};
  std::size_t kept_bytes_ = 0;
  bool kept_is_used_ = false;  // kept_ holds the line of the current answer.
};

}  // namespace haricot::tool
