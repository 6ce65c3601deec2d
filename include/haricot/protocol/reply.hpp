// An answer as a value, and its bytes.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "haricot/base/blob.hpp"

namespace haricot {

enum class ReplyCode : std::uint8_t {
  none,  // Nothing is sent: the answer comes later, or never.
  // A word alone.
  bad_format,
  buried,
  deadline_soon,
  deleted,
  draining,
  expected_crlf,
  internal_error,
  job_too_big,
  kicked_job,
  not_found,
  not_ignored,
  out_of_memory,
  paused,
  released,
  timed_out,
  touched,
  unknown_command,
  // A word and `number`.
  buried_new,
  inserted,
  kicked,
  watching,
  ok_in_pieces,  // As ok, with `number` as the size; the text and its CR LF are sent by the one who
                 // asks.
  // A word and `text`, a tube's name.
  using_tube,
  // A word, `number` (the job's id) and the size of a body; then the body.
  found,
  reserved,
  // A word and the size of a text; then the text.
  ok,
};

struct Reply {
  ReplyCode code = ReplyCode::none;
  std::uint64_t number = 0;
  // The tube's name, the report, or the body if it is not in `blob`. Borrowed: valid until the next
  // command.
  std::string_view text = {};
  // The body of a job that is large enough not to be copied.
  BlobRef blob = {};
};

// The longest first line of an answer: RESERVED, two numbers of 20 and 10 digits; USING and a name.
inline constexpr std::size_t kReplyLineBytesMax = 256;

// Writes the first line of an answer, CR LF included, and returns its length. Requires: room for
// kReplyLineBytesMax bytes; code is not none.
std::size_t write_reply_line(const Reply& reply, char* to);

// Whether the line is followed by a body and its CR LF.
bool has_body(ReplyCode code);
inline std::size_t body_size(const Reply& reply) {
  return reply.blob ? reply.blob.size() : reply.text.size();
}

}  // namespace haricot
