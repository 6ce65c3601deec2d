// Turns the bytes of one client into requests: command lines, and the bodies of puts and notes.
//
// The reader neither receives bytes nor runs requests. The owner of the input requests the next
// piece, runs it, and requests the next one. After the line of a command with a body it calls
// expect_body(). The owner keeps the input until the reader has used it: a line or a small body is
// used when it is complete. A large body is copied piece by piece into its final memory, and
// discarded bytes are used as they arrive.
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
#include "haricot/base/check.hpp"
#include "haricot/base/serialization.hpp"
#include "haricot/protocol/reply.hpp"
#include "haricot/queue/job.hpp"

namespace haricot {

// A command whose body is not complete.
struct PutPlan {
  enum class Kind : std::uint8_t {
    put,
    tagged_put,  // The dispatcher keeps its tags: see Dispatcher::forget_put().
    note,
  };
  friend constexpr Kind last_of(Kind) { return Kind::note; }

  JobId id = 0;  // Id of the new job, or of the job with the note.
  // Memory of a large body; null: the body is small, or refused.
  BlobRef body = {};
  std::uint32_t priority = 0;
  std::uint32_t delay_s = 0;
  std::uint32_t ttr_s = 0;
  std::uint32_t body_bytes = 0;
  // Answer to a put whose body is discarded; none: the put is not refused.
  ReplyCode refusal = ReplyCode::none;
  Kind kind = Kind::put;

  // All fields except the body.
  using Fields = FieldList<&PutPlan::id, &PutPlan::priority, &PutPlan::delay_s, &PutPlan::ttr_s,
                           &PutPlan::body_bytes, &PutPlan::refusal, &PutPlan::kind>;
};
static_assert(sizeof(PutPlan) == 40, "a new field belongs into the list");

// The next piece of an input.
struct RequestPiece {
  enum class Kind : std::uint8_t {
    nothing,           // The input has no complete piece. No byte is used.
    discarded,         // A part of a discarded line or body.
    part_of_body,      // A part of a large body, copied into the memory of the body.
    line,              // A command line: `text`, without its CR LF.
    end_of_long_line,  // The end of a line that is too long.
    body,              // A complete body: `text`, or in the plan if it is large.
    body_without_end,  // A body without CR LF after it. The two bytes there are used.
    end_of_refused,    // The end of a refused body, with the two bytes after it.
  };
  Kind kind = Kind::nothing;
  std::size_t bytes = 0;       // Bytes of the input that are used.
  std::string_view text = {};  // In the input.
};

class RequestReader {
 public:
  // Allows or forbids a line of delete-batch that exceeds kLineBytesMax. Forbidden at first.
  void allow_batch_lines(bool allowed) { allows_batch_lines_ = allowed; }
  // Returns true during such a line, while up to kBatchLineBytesMax of input have to be kept.
  bool is_in_batch_line() const { return is_in_batch_line_; }

  // Returns the piece at the front of the input. A line is returned again while its bytes remain in
  // the input.
  RequestPiece next(std::string_view input);

  // Begins the body of the command whose line was returned last. Requires: no body is incomplete.
  // Inlined, because each put would pay for the call.
  [[gnu::always_inline]] void expect_body(PutPlan plan) {
    CHECK(stage_ == Stage::line);
    plan_ = std::move(plan);
    stage_ = plan_.refusal == ReplyCode::none ? Stage::body : Stage::rest_of_body;
    body_bytes_left_ = plan_.body_bytes;
  }
  // Makes next() return the last `body` again. Requires: its bytes are still in the input, and the
  // plan has the same body.
  void take_back_body() { stage_ = Stage::body; }
  // Returns the last put. After a piece `body` its body is complete, and may be moved out.
  PutPlan& put() { return plan_; }
  const PutPlan& put() const { return plan_; }
  // Returns true during the body of a put that is not refused.
  bool is_in_body() const { return stage_ == Stage::body; }
  // Returns true during the body of a put, refused or not.
  bool is_after_put() const { return stage_ >= Stage::body; }

  void write(StateWriter& to) const;
  // Restores the state. Requires: a new reader. Returns false if the state is impossible or memory
  // is short.
  [[nodiscard]] bool read(StateReader& from);

  // Returns the memory for the next bytes of a large body; empty if none is incomplete. A caller
  // that has written bytes there calls took_directly().
  std::span<char> direct_space();
  // Requires: `bytes` is at most the size of direct_space().
  void took_directly(std::size_t bytes);

 private:
  enum class Stage : std::uint8_t {
    line,
    rest_of_line,  // A line that is too long.
    body,
    rest_of_body,  // A refused body,
    rest_of_end,   // and the two bytes after it.
  };
  friend constexpr Stage last_of(Stage) { return Stage::rest_of_end; }

  RequestPiece next_line(std::string_view input);
  RequestPiece next_of_body(std::string_view input);
  // Cold functions are not inlined, because they would make every command slower.
  [[gnu::cold, gnu::noinline]] RequestPiece next_long_line(std::string_view input);
  [[gnu::cold, gnu::noinline]] RequestPiece rest_of_line(std::string_view input);
  [[gnu::cold, gnu::noinline]] RequestPiece rest_of_body(std::string_view input);
  [[gnu::cold, gnu::noinline]] RequestPiece next_of_large_body(std::string_view input);
  RequestPiece end_of_body(std::string_view input, std::size_t body_bytes);

  // The next fields use the padding at its end.
  [[no_unique_address]] PutPlan plan_;
  Stage stage_ = Stage::line;
  bool allows_batch_lines_ : 1 = false;
  bool is_in_batch_line_ : 1 = false;
  union {
    // Missing bytes of a large body, or of the part that is discarded (body, rest_of_body,
    // rest_of_end).
    std::uint32_t body_bytes_left_ = 0;
    // With is_in_batch_line_: bytes at the front in which the end of the line does not begin.
    std::uint32_t searched_bytes_;
  };
};
static_assert(sizeof(RequestReader) == 40, "every idle connection pays for one");

}  // namespace haricot
