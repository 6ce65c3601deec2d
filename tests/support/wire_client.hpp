// A client that speaks raw bytes with a beanstalk server: what a test sends is what is sent, and
// what comes back is handed over byte for byte.
//
// Every call that waits has a deadline, generous by default, and shows failure by its value; the
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

// Bytes made readable for failure messages: `put 0\r\n`, `\x00`; cut in the middle when very long.
std::string escaped(std::string_view bytes);

class WireClient final {
 public:
  using Milliseconds = std::chrono::milliseconds;

  WireClient() = default;
  WireClient(const WireClient&) = delete;
  WireClient& operator=(const WireClient&) = delete;
  ~WireClient();

  // Each closes the connection there was first.
  [[nodiscard]] bool connect_tcp(std::uint16_t port, const std::string& address = "127.0.0.1");
  [[nodiscard]] bool connect_unix(const std::string& path);
  [[nodiscard]] bool connect(const ServerProcess& server);  // To wherever it listens.

  // Sends all bytes. While the server does not take them, what it answers is read and kept, so a
  // long batch cannot lock both sides up.
  bool send(std::string_view bytes);

  // Sends the text and CR LF.
  bool send_line(std::string_view text);

  // Sends as much as the server takes within the time, without ever reading; returns how much.
  std::size_t send_without_reading(std::string_view bytes, Milliseconds patience);

  // The next line, without its CR LF.
  std::optional<std::string> read_line(Milliseconds deadline = kAnswerDeadline);

  // Exactly n bytes.
  std::optional<std::string> read_exact(std::size_t n, Milliseconds deadline = kAnswerDeadline);

  // One whole answer as it came: the line with its CR LF, and for RESERVED, FOUND and OK the body
  // with its CR LF. (Whether a body does end in CR LF is for the caller to see.)
  std::optional<std::string> read_answer(Milliseconds deadline = kAnswerDeadline);

  // send_line() and read_answer() in one; if there is no answer, the text is the reason in angle
  // brackets, such as `<timed out>`, which compares unequal to any answer.
  std::string ask(std::string_view text, Milliseconds deadline = kAnswerDeadline);

  // A put with this body: the command line is `put <pri> <delay> <ttr> <size of body>`.
  std::string put(std::string_view body, std::uint32_t pri = 0, std::uint32_t delay = 0,
                  std::uint32_t ttr = 60);

  // Whether a byte or the end of the stream arrives within this time.
  bool has_input_within(Milliseconds time);

  // Whether neither comes for all of this time.
  bool stays_silent_for(Milliseconds time) { return !has_input_within(time); }

  // Whether the server closes the connection by the deadline without sending anything that was not
  // read yet. A reset counts as closed.
  bool at_eof(Milliseconds deadline = kAnswerDeadline);

  // Ends our direction only; the server reads an end of stream and can still answer.
  bool shutdown_write();

  void close();
  void reset();  // Closes with a TCP reset instead of a regular end.

  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  const std::string& failure() const { return failure_; }

 private:
  using Deadline = std::chrono::steady_clock::time_point;

  // Reads what has arrived, waiting for it until the deadline. False on timeout, end of stream or
  // error.
  bool fill(Deadline deadline);
  bool wait_for(short events, Deadline deadline, short& seen);
  std::optional<std::size_t> find_line_end(Deadline deadline);
  std::optional<std::string> take(std::size_t n, Deadline deadline);
  std::size_t buffered() const { return input_.size() - taken_; }

  int fd_ = -1;
  std::string input_;  // What was received; the first taken_ bytes were handed out already.
  std::size_t taken_ = 0;
  std::string failure_;
};

using Client = std::unique_ptr<WireClient>;

}  // namespace haricot::test
