// Two servers that get the same bytes over the same connections in the same order, and whose
// answers are compared one by one.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/server_process.hpp"
#include "support/wire_client.hpp"

namespace haricot::test {

class TwinServers final {
 public:
  // Connections are numbered; the last one is reserved for this class, which observes with it.
  TwinServers(std::size_t connections, std::chrono::milliseconds answer_deadline);

  // Starts both and opens all connections below `spare`. On failure returns false: see
  // differences().
  [[nodiscard]] bool start(const ServerOptions& left, const ServerOptions& right,
                           std::size_t spare);

  // Opens a connection and waits until both servers have it.
  void open(std::size_t connection);

  // Sends the bytes to both. The first line of each command is kept for the report.
  void send(std::size_t connection, std::string_view bytes);

  // Reads the next answer of both, and notes a difference. Returns the left one; empty if there is
  // none.
  std::string expect_answer(std::size_t connection);

  // Sends the text and CR LF, and calls expect_answer().
  std::string ask(std::size_t connection, std::string_view line);

  // Returns true if a server has sent unread bytes on this connection. Meaningful after settle().
  bool has_answer(std::size_t connection);

  // Notes a difference if a server has sent more than expected.
  void expect_silence(std::size_t connection);

  // end_input() ends this direction, and expect_end() waits until both servers close. Pending
  // answers are expected between the two.
  void end_input(std::size_t connection);
  void expect_end(std::size_t connection);

  // Close without notice, and wait until both servers have noticed.
  void close(std::size_t connection);
  void reset(std::size_t connection);

  // Returns when both servers have finished all immediate effects of the commands so far, on all
  // connections, and have sent their answers.
  void settle();

  // Enters drain mode on both.
  void drain();

  // Compares `stats` and `list-tubes` on the observing connection.
  void compare_overview();

  // Stops both. A server that has ended before, or that a sanitizer has complained about, is a
  // difference.
  void stop();

  const std::vector<std::string>& differences() const { return differences_; }
  std::size_t commands_sent() const { return commands_sent_; }

  // Number of answers of each kind (first word) that both have given.
  const std::map<std::string, std::size_t>& kinds_of_answers() const { return kinds_; }

  // Returns true if an answer is missing, or there are too many differences: continuing makes no
  // sense.
  bool broken() const { return broken_; }

  // Returns true if an answer did not come.
  bool lost_answer() const { return lost_answer_; }

 private:
  struct Connection {
    WireClient left;
    WireClient right;
  };

  struct LogEntry {
    std::size_t index = 0;
    std::size_t connection = 0;
    std::string text;
  };

  void note(std::size_t connection, const std::string& what);
  void log(std::size_t connection, std::string text);
  std::string history_of(std::size_t connection) const;
  void wait_for_stats(std::string_view line, const std::string& what);
  std::size_t observer() const { return connections_.size() - 1; }
  // `asked`: when the command was sent; nothing: it may have had to wait.
  std::string expect_answer_to(std::size_t connection,
                               std::optional<std::chrono::steady_clock::time_point> asked);
  std::uint64_t late_s() const;

  ServerProcess left_;
  ServerProcess right_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::chrono::milliseconds answer_deadline_;
  std::deque<LogEntry> log_;
  std::vector<std::string> differences_;
  std::map<std::string, std::size_t> kinds_;
  std::size_t commands_sent_ = 0;
  std::size_t open_ = 0;
  std::chrono::steady_clock::duration slowest_{};  // Slowest answer to ask().
  bool broken_ = false;
  bool lost_answer_ = false;
};

}  // namespace haricot::test
