// A connection that sends many commands at once and checks each answer. Used before and after
// measurements, and by Remote.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "haricot/base/time.hpp"
#include "os/descriptor.hpp"
#include "tool/client/address.hpp"
#include "tool/client/answer_parser.hpp"

namespace haricot::tool {

// Returns a message about an unexpected answer to the command.
std::string describe_unexpected(std::string_view command, const Answer& answer);

class Dialogue final {
 public:
  // Returns true if the answer is acceptable. The answer is valid during the call.
  using Check = std::function<bool(const Answer& answer)>;

  // Sets the time limit for an answer, and for each 64 KiB in either direction meanwhile. Smaller
  // progress does not renew it, so a server that trickles bytes times out too.
  explicit Dialogue(Duration patience) : patience_(patience) {}

  void set_patience(Duration patience) { patience_ = patience; }

  // Stores the bodies of answers for the checks.
  void keep_bodies() { parser_.keep_bodies(); }
  // While run() waits for an answer, calls `on_ready` when one of the descriptors is readable. If
  // it returns false, run() gives up and returns false.
  void also_watch(std::vector<int> descriptors, std::function<bool()> on_ready) {
    watched_ = std::move(descriptors);
    on_ready_ = std::move(on_ready);
  }

  [[nodiscard]] bool open(const Address& address, std::string& error);

  // Sends the commands and checks `answers` answers to them. `name` describes the commands in
  // messages. On failure returns false and sets `error`; the connection must not be used again.
  [[nodiscard]] bool run(std::string_view name, std::string_view commands, std::uint64_t answers,
                         const Check& check, std::string& error);

  // Sends commands that must all be answered with this code.
  [[nodiscard]] bool run(std::string_view name, std::string_view commands, std::uint64_t answers,
                         ReplyCode code, std::string& error);

  // Shuts down the sending side and waits, at most for the time limit, until the server closes the
  // connection. The server has then released the jobs that the connection held.
  void finish();

  // Returns the bytes that are no answer of a beanstalk server; empty if there were none.
  const std::string& foreign_words() const { return foreign_words_; }

  // Hands the open connection over to the caller.
  os::Descriptor take_socket() { return std::move(socket_); }

 private:
  void mark_progress(std::size_t bytes, bool is_answer);
  bool send_some(std::string_view& commands, std::string& error);
  bool receive(std::string_view name, std::uint64_t& answers, const Check& check,
               std::string& error);
  bool wait(bool to_send, std::string& error);

  Duration patience_;
  Instant deadline_;             // For the next answer or the next 64 KiB.
  std::size_t bytes_moved_ = 0;  // Since the deadline was set.
  bool is_answering_ = false;    // A part of an answer has arrived.
  os::Descriptor socket_;
  AnswerParser parser_;
  std::string buffer_;
  std::string foreign_words_;
  std::vector<int> watched_;
  std::function<bool()> on_ready_;
};

// Shuts down the sending side and reads until the server closes the connection, or until the
// deadline.
void drain_to_end(int socket, Instant deadline);

}  // namespace haricot::tool
