// A client that exchanges raw bytes with a beanstalk server: sends exactly the bytes of the test,
// and returns exactly the received bytes.
//
// Every call that waits has a deadline, generous by default, and reports failure by its value; the
// reason is in failure().

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "support/eventually.hpp"

namespace haricot::test {

class ServerProcess;

constexpr std::chrono::milliseconds kAnswerDeadline = kPatience;

// Makes bytes readable for failure messages: `put 0\r\n`, `\x00`. Omits the middle of very long
// ones.
std::string escaped(std::string_view bytes);

class WireClient final {
 public:
  using Milliseconds = std::chrono::milliseconds;

  WireClient() = default;
  WireClient(const WireClient&) = delete;
  WireClient& operator=(const WireClient&) = delete;
  ~WireClient();

  // Each closes the previous connection first.
  [[nodiscard]] bool connect_tcp(std::uint16_t port, const std::string& address = "127.0.0.1");
  [[nodiscard]] bool connect_unix(const std::string& path);
  [[nodiscard]] bool connect(const ServerProcess& server);  // Uses the server's address.

  // Sends all bytes. While the server does not accept them, its answers are read and stored, so
  // that a long batch cannot block both sides.
  bool send(std::string_view bytes);

  // Sends the text and CR LF.
  bool send_line(std::string_view text);

  // Sends as much as the server accepts within the time, without reading. Returns the number of
  // bytes.
  std::size_t send_without_reading(std::string_view bytes, Milliseconds patience);

  // Reads the next line, without its CR LF.
  std::optional<std::string> read_line(Milliseconds deadline = kAnswerDeadline);

  // Reads exactly n bytes.
  std::optional<std::string> read_exact(std::size_t n, Milliseconds deadline = kAnswerDeadline);

  // Reads one complete answer: the line with its CR LF, and for RESERVED, FOUND and OK the body
  // with its CR LF. (The caller checks that a body ends in CR LF.)
  std::optional<std::string> read_answer(Milliseconds deadline = kAnswerDeadline);

  // Calls send_line() and read_answer(). Without an answer, returns the reason in angle brackets,
  // such as `<timed out>`, which differs from any answer.
  std::string ask(std::string_view text, Milliseconds deadline = kAnswerDeadline);

  // Puts this body, with the line `put <pri> <delay> <ttr> <size of body>`.
  std::string put(std::string_view body, std::uint32_t pri = 0, std::uint32_t delay = 0,
                  std::uint32_t ttr = 60);

  // Returns true if a byte or the end of the stream arrives within this time.
  bool has_input_within(Milliseconds time);

  // Returns true if neither arrives during this time.
  bool stays_silent_for(Milliseconds time) { return !has_input_within(time); }

  // Returns true if the server closes the connection by the deadline without sending more bytes. A
  // reset counts as closed.
  bool at_eof(Milliseconds deadline = kAnswerDeadline);

  // Closes this direction only; the server reads an end of stream and can still answer.
  bool shutdown_write();

  void close();
  void reset();  // Closes with a TCP reset instead of a regular end.

  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  const std::string& failure() const { return failure_; }

 private:
  using Deadline = std::chrono::steady_clock::time_point;

  // Reads the bytes that have arrived, and waits for them until the deadline. Returns false on
  // timeout, end of stream or error.
  bool fill(Deadline deadline);
  bool wait_for(short events, Deadline deadline, short& seen);
  std::optional<std::size_t> find_line_end(Deadline deadline);
  std::optional<std::string> take(std::size_t n, Deadline deadline);
  std::size_t buffered() const { return input_.size() - taken_; }

  int fd_ = -1;
  std::string input_;  // Received bytes; the first taken_ were returned already.
  std::size_t taken_ = 0;
  std::string failure_;
};

using Client = std::unique_ptr<WireClient>;

}  // namespace haricot::test
