// Bytes in, requests of HTTP/1.0 and 1.1 out (RFC 9112). No socket, no clock.
//
// It is strict: what two programs could read in two ways (two lengths, folded lines, a line that
// ends without CR) is refused, and the connection has to end. What it costs grows with the bytes,
// however they are cut.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "web/http/request.hpp"

namespace haricot::web {

class RequestParser final {
 public:
  static constexpr std::size_t kHeadersMax = 100;
  static constexpr std::size_t kChunkLineBytesMax = 256;

  // Why a request is refused: the status to answer with, and a sentence.
  struct Failure {
    std::uint16_t status;
    std::string_view reason;
  };

  // `head_bytes_max` limits a request's line and headers together, and the trailers of chunks.
  explicit RequestParser(std::size_t head_bytes_max) : head_bytes_max_(head_bytes_max) {}

  // Takes bytes, and returns how many: all, or up to the end of a head or of a request, or of what
  // is refused. Requires: !has_head(), !is_whole(), !failure().
  std::size_t feed(std::string_view bytes);

  // The head of a request is there, and a body follows. Go on with begin_body(), or refuse the
  // request and end the connection.
  bool has_head() const { return state_ == State::head_end; }
  const Request& head() const { return request_; }
  // Takes a body up to this limit. If the body is announced to be longer, this is a failure.
  void begin_body(std::size_t bytes_max);
  // The peer waits for a 100 before it sends the body.
  bool expects_continue() const { return expects_continue_; }

  bool is_whole() const { return state_ == State::whole; }
  // The request; the parser is ready for the next. Requires: is_whole().
  Request take();

  const std::optional<Failure>& failure() const { return failure_; }

  // Nothing of a request has come yet.
  bool is_idle() const { return state_ == State::request_line && line_.empty() && used_ == 0; }
  bool is_in_body() const { return state_ >= State::body && state_ <= State::trailer; }
  // What is kept of the body so far.
  std::size_t body_bytes() const { return request_.body.size(); }

 private:
  enum class State : std::uint8_t {
    request_line,
    header,
    head_end,
    body,        // Of a known length,
    chunk_size,  // or in chunks.
    chunk,
    chunk_end,
    trailer,
    whole,
    failed,
  };

  void fail(std::uint16_t status, std::string_view reason);
  // Takes bytes up to the end of a line; true: line_ is a whole one, without its end.
  bool take_line(std::string_view& bytes, std::size_t bytes_max);
  void refuse_long_line();
  void take_bytes(std::string_view& bytes);
  void run_line();
  void read_request_line();
  bool read_target(std::string_view target);
  bool read_version(std::string_view version);
  void read_header();
  void end_head();
  bool check_host();
  bool read_length();
  void read_chunk_size();
  // How many headers have this name; `value` is that of the last.
  std::size_t find(std::string_view name, std::string_view& value) const;

  std::size_t head_bytes_max_;
  State state_ = State::request_line;
  Request request_;
  std::optional<Failure> failure_;
  std::string line_;       // So far.
  std::size_t used_ = 0;   // Bytes of the lines of this head, or of the lines between chunks.
  std::string authority_;  // Of a target in absolute form: it counts, and not the header Host.
  bool is_chunked_ = false;
  bool expects_continue_ = false;
  std::uint64_t left_ = 0;  // Bytes of the body, or of the chunk, that are still to come.
  std::size_t body_bytes_max_ = 0;
};

}  // namespace haricot::web
