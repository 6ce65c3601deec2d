// Two servers that are sent the same bytes over the same connections in the same order, and whose
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
  // Connections have numbers; the highest is kept for this class itself, which looks on from there.
  TwinServers(std::size_t connections, std::chrono::milliseconds answer_deadline);

  // Starts both and opens all connections but those from `spare` on. False: see differences().
  [[nodiscard]] bool start(const ServerOptions& left, const ServerOptions& right,
                           std::size_t spare);

  // Opens a connection and waits until both servers have it.
  void open(std::size_t connection);

  // Sends the bytes to both. The first line of each command is kept for the report.
  void send(std::size_t connection, std::string_view bytes);

  // The next answer of both; a difference is noted down. Returns the left one, empty if there is
  // none.
  std::string expect_answer(std::size_t connection);

  // send() of the text and CR LF, and expect_answer().
  std::string ask(std::size_t connection, std::string_view line);

  // Whether a server has sent something on this connection that was not read yet. Meaningful after
  // settle().
  bool has_answer(std::size_t connection);

  // Notes a difference if a server has sent more than was expected so far.
  void expect_silence(std::size_t connection);

  // Ends our direction and sees both servers close. Answers under way are to be expected between
  // the two.
  void end_input(std::size_t connection);
  void expect_end(std::size_t connection);

  // Close without notice, and wait until both servers have seen it.
  void close(std::size_t connection);
  void reset(std::size_t connection);

  // Returns once both servers have done all that the commands so far, on any connection, cause at
  // once, and have sent what there is to answer.
  void settle();

  // Puts both into drain mode.
  void drain();

  // Compares `stats` and `list-tubes` as our own connection sees them.
  void compare_overview();

  // Stops both. One that has ended before, or that a sanitizer has complained about, is a
  // difference.
  void stop();

  const std::vector<std::string>& differences() const { return differences_; }
  std::size_t commands_sent() const { return commands_sent_; }

  // How often each kind of answer (its first word) was given by both.
  const std::map<std::string, std::size_t>& kinds_of_answers() const { return kinds_; }

  // No answer came, or too many differences were found: it makes no sense to go on.
  bool broken() const { return broken_; }

  // An answer did not come at all.
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
  std::chrono::steady_clock::duration slowest_{};  // Of the answers to ask().
  bool broken_ = false;
  bool lost_answer_ = false;
};

}  // namespace haricot::test
