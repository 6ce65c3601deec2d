// Answers of a server, read from a stream of bytes that may be cut anywhere.
//
// For a client that asks a lot: nothing is copied but a line that arrives in pieces, and a body is
// compared with the one it should be while it passes by; it is kept only for who asks for that.

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
  std::uint64_t number = 0;      // A job's id; a number of jobs or tubes.
  std::uint64_t body_bytes = 0;  // Of a body or a report.
  // Whether the body is the expected one; true for answers without a body.
  bool body_matches = true;
  std::string_view line;  // Without CR LF; valid until the next call, and while the bytes are.
  std::string_view body;  // Empty unless bodies are kept; valid until the next call.
};

class AnswerParser {
 public:
  enum class Result : std::uint8_t {
    answer,     // `answer` is the next one.
    more,       // All bytes are used up, and the answer goes on.
    malformed,  // No server that speaks the protocol sends this; `answer.line` is its beginning.
  };

  // The body that every job is to have; borrowed. Without one each body has to be empty to match.
  void expect_body(std::string_view body) { expected_ = body; }
  // Forgets a half-read answer: another connection begins.
  void restart();
  // From now on Answer::body is filled in, up to so many bytes. A body that is longer is cut;
  // Answer::body_bytes has its true length. Between two answers another bound may be set.
  void keep_bodies(std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
    kept_bytes_max_ = most;
  }

  // What has arrived of a line that has no end yet; empty if the last one was complete.
  std::string_view unfinished_line() const {
    return kept_is_used_ ? std::string_view{} : std::string_view(kept_.data(), kept_bytes_);
  }

  // Takes bytes from the front, up to the end of the next answer. After `malformed` the parser has
  // no use any more.
  Result next(std::string_view& bytes, Answer& answer);

 private:
  Result take_line(std::string_view& bytes);
  bool read_line(std::string_view line);
  bool take_body(std::string_view& bytes);

  std::string_view expected_;
  Answer current_;
  bool in_body_ = false;
  std::uint64_t body_taken_ = 0;      // Of the current body and its CR LF.
  std::uint64_t kept_bytes_max_ = 0;  // Of each body.
  std::string kept_body_;
  std::array<char, kReplyLineBytesMax> kept_{};
  std::size_t kept_bytes_ = 0;
  bool kept_is_used_ = false;  // The line of the current answer stands in kept_.
};

}  // namespace haricot::tool
