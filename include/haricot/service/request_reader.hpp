// Turns the bytes of one client into requests: command lines, and the bodies of puts.
//
// The reader receives nothing and runs nothing. Whoever has input asks the reader for the next
// piece, deals with the piece and asks again. After the line of a put, expect_body() says what
// becomes of the body. The input stays with its owner until the reader has used it: a line or a
// small body is used when all of it is there. A large body goes piece by piece to the memory that
// it stays in, and what is thrown away is used as it comes.
//
//   put 0 0 9 3\r\n | abc\r\n | stats\r\n     one piece each
//   put 0 0 9 9000\r\n | 1000 bytes | 8000 bytes | \r\n

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "haricot/base/blob.hpp"
#include "haricot/base/state_stream.hpp"
#include "haricot/protocol/reply.hpp"
#include "haricot/queue/job.hpp"

namespace haricot {

// A put whose line was read and whose body is still to come.
struct PutPlan {
  JobId id = 0;
  // Where a large body is collected; null: it is small, or not wanted.
  BlobRef body = {};
  std::uint32_t priority = 0;
  std::uint32_t delay_s = 0;
  std::uint32_t ttr_s = 0;
  std::uint32_t body_bytes = 0;
  // The body is thrown away and this is the answer; none: the body is wanted.
  ReplyCode refusal = ReplyCode::none;
  bool has_tags = false;  // The dispatcher has them: see Dispatcher::forget_put().

  // All but the body.
  using Fields = FieldList<&PutPlan::id, &PutPlan::priority, &PutPlan::delay_s, &PutPlan::ttr_s,
                           &PutPlan::body_bytes, &PutPlan::refusal, &PutPlan::has_tags>;
};
static_assert(sizeof(PutPlan) == 40, "a new field belongs into the list");

// What comes next in an input.
struct RequestPiece {
  enum class Kind : std::uint8_t {
    nothing,           // It goes on with what has not arrived yet. No byte is used.
    thrown_away,       // A part of something that nobody wants.
    part_of_body,      // Of a large one. It is in its place.
    line,              // `text` is a command line, without its CR LF.
    end_of_long_line,  // The end of one that is too long.
    body,              // The put is complete: `text` is its body, or the plan has it.
    body_without_end,  // The same, but no CR LF is after it. The two bytes there are used.
    end_of_refused,    // The end of a body that is not wanted, with the two bytes after it.
  };
  Kind kind = Kind::nothing;
  std::size_t bytes = 0;       // So many of the input are used.
  std::string_view text = {};  // Points into the input.
};

class RequestReader {
 public:
  // Whether the line of delete-batch may be longer than all others. It may not at first.
  void allow_batch_lines(bool allowed) { allows_batch_lines_ = allowed; }
  // A line of that kind is under way, so up to kBatchLineBytesMax of input have to be kept.
  bool is_in_batch_line() const { return is_in_batch_line_; }

  // The piece at the front of the input. To ask again for a line that was not dealt with gives it
  // again: only its bytes in the input move the reader on.
  RequestPiece next(std::string_view input);

  // The last line was that of a put. Requires: no body is under way.
  void expect_body(PutPlan plan);
  // The piece `body` that was given last was not dealt with: it is given again. Its bytes stay in
  // the input, and the put's body is as it was.
  void take_back_body() { stage_ = Stage::body; }
  // The last put. Its `body` is complete after a piece `body`, to be taken.
  PutPlan& put() { return plan_; }
  const PutPlan& put() const { return plan_; }
  // The body of that put is under way, and wanted.
  bool is_in_body() const { return stage_ == Stage::body; }
  // The body of a put is under way, wanted or not.
  bool is_after_put() const { return stage_ >= Stage::body; }

  void write(StateWriter& to) const;
  // Of a reader that has read nothing. Refuses what no reader can be at. False: that, or no memory.
  [[nodiscard]] bool read(StateReader& from);

  // Where the next bytes of a large body belong; empty if none is under way. They may be written
  // there by who has them, and are told with took_directly().
  std::span<char> direct_space();
  // Requires: at most as many as there was space for.
  void took_directly(std::size_t bytes);

 private:
  enum class Stage : std::uint8_t {
    line,
    rest_of_line,  // Of one that is too long.
    body,
    rest_of_body,  // Of a put that is refused,
    rest_of_end,   // and the two bytes after it.
  };
  friend constexpr Stage last_of(Stage) { return Stage::rest_of_end; }

  RequestPiece next_line(std::string_view input);
  RequestPiece next_of_body(std::string_view input);
  // Cold, lest they are inlined and make every command slower.
  [[gnu::cold, gnu::noinline]] RequestPiece next_long_line(std::string_view input);
  [[gnu::cold, gnu::noinline]] RequestPiece rest_of_line(std::string_view input);
  [[gnu::cold, gnu::noinline]] RequestPiece rest_of_body(std::string_view input);
  [[gnu::cold, gnu::noinline]] RequestPiece next_of_large_body(std::string_view input);
  RequestPiece end_of_body(std::string_view input, std::size_t body_bytes);

  // What follows it uses the bytes at its end.
  [[no_unique_address]] PutPlan plan_;
  Stage stage_ = Stage::line;
  bool allows_batch_lines_ : 1 = false;
  bool is_in_batch_line_ : 1 = false;
  union {
    // body: of a large one; rest_of_body, rest_of_end: of that.
    std::uint32_t body_bytes_left_ = 0;
    // line, while is_in_batch_line_: its end does not begin in so many of the first bytes.
    std::uint32_t searched_bytes_;
  };
};
static_assert(sizeof(RequestReader) == 40, "every idle connection pays for one");

}  // namespace haricot
