// Parses HTTP/1.0 and 1.1 requests (RFC 9112) from bytes, without a socket or a clock.
//
// It is strict: it rejects input that two programs might read differently (two lengths, folded
// lines, a line that ends without CR), and the connection must be closed. The cost is linear in the
// bytes, however they are split.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "web/http/message.hpp"

namespace haricot::web {

class RequestParser final {
 public:
  static constexpr std::size_t kHeadersMax = 100;
  static constexpr std::size_t kChunkLineBytesMax = 256;

  // A rejected request: the status of the response, and a sentence.
  struct Failure {
    std::uint16_t status;
    std::string_view reason;
  };

  // `head_bytes_max` limits the request line and the headers together, and the trailers of chunks.
  explicit RequestParser(std::size_t head_bytes_max) : head_bytes_max_(head_bytes_max) {}

  // Takes bytes and returns their number: all, or those up to the end of a head, of a request, or
  // of rejected input. Requires: !has_head(), !is_whole(), !failure().
  std::size_t feed(std::string_view bytes);

  // Returns true if a head is complete and a body follows. Then call begin_body(), or refuse the
  // request and close the connection.
  bool has_head() const { return state_ == State::head_end; }
  const Request& head() const { return request_; }
  // Accepts a body of at most `bytes_max` bytes. Fails if the declared length is larger.
  void begin_body(std::size_t bytes_max);
  // Returns true if the peer waits for a status 100 before it sends the body.
  bool expects_continue() const { return expects_continue_; }

  bool is_whole() const { return state_ == State::whole; }
  // Returns the request and begins the next one. Requires: is_whole().
  Request take();

  const std::optional<Failure>& failure() const { return failure_; }

  // Returns true if no byte of a request has arrived.
  bool is_idle() const { return state_ == State::request_line && line_.empty() && used_ == 0; }
  bool is_in_body() const { return state_ >= State::body && state_ <= State::trailer; }
  // Returns the number of body bytes that are stored.
  std::size_t body_bytes() const { return request_.body.size(); }

 private:
  enum class State : std::uint8_t {
    request_line,
    header,
    head_end,
    body,        // Its length is known.
    chunk_size,  // In chunks.
    chunk,
    chunk_end,
    trailer,
    whole,
    failed,
  };

  void fail(std::uint16_t status, std::string_view reason);
  // Takes bytes up to the end of a line. Returns true if line_ is complete; it has no line end
  // then.
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
  // Returns the number of headers with this name, and the value of the last one.
  std::size_t find(std::string_view name, std::string_view& value) const;

  std::size_t head_bytes_max_;
  State state_ = State::request_line;
  Request request_;
  std::optional<Failure> failure_;
  std::string line_;       // Incomplete.
  std::size_t used_ = 0;   // Bytes of the lines of the head, or of the lines between chunks.
  std::string authority_;  // Host of a target in absolute form; replaces the header Host.
  bool is_chunked_ = false;
  bool expects_continue_ = false;
  std::uint64_t left_ = 0;  // Bytes of the body, or of the chunk, that have not arrived.
  std::size_t body_bytes_max_ = 0;
};

}  // namespace haricot::web
