// Connections to a server that wait for the answers: Dialogue sends many commands at once, and
// Remote sends one or a few and returns their answers in full.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "haricot/base/time.hpp"
#include "haricot/protocol/reply.hpp"
#include "os/descriptor.hpp"
#include "tool/client/address.hpp"
#include "tool/client/answer_parser.hpp"
#include "tool/client/stats_text.hpp"

namespace haricot::tool {

// Returns a message about an unexpected answer to the command.
std::string describe_unexpected(std::string_view command, const Answer& answer);

// A connection that sends many commands at once and checks each answer. Used before and after
// measurements, and by Remote.
class Dialogue final {
 public:
  // Returns true if the answer is acceptable. The answer is valid during the call.
  using Check = std::function<bool(const Answer& answer)>;

  // Sets the time limit for an answer, and for each 64 KiB that are sent or received until it is
  // complete. Smaller progress does not renew it, so a server that trickles bytes times out too.
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

  // Returns received bytes that are not an answer of a beanstalk server; empty if there were none.
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

// An answer that owns its texts.
struct Response {
  ReplyCode code = ReplyCode::none;
  std::uint64_t number = 0;
  std::string line;
  std::string body;
};

// A failure: its reason for a person, and the exit status for a script.
struct Failure {
  std::string reason;
  int status = 0;
};

// A server as operators' subcommands use it: they send one command or a few at a time, and get
// whole answers.
//
// Each call that returns false or nothing has set failure(). If the server was unreachable or sent
// something unintelligible, the connection is closed.
class Remote final {
 public:
  // `patience` limits the time for each answer.
  Remote(Address address, Duration patience) : address_(std::move(address)), patience_(patience) {}

  // Changes the time limit, also of an open connection.
  void set_patience(Duration patience);

  [[nodiscard]] bool open();
  bool is_open() const { return dialogue_.has_value(); }
  void close() { dialogue_.reset(); }

  // See Dialogue::also_watch. Applies to later connections, too.
  void also_watch(std::vector<int> descriptors, std::function<bool()> on_ready);

  // Sends commands, each with its CR LF, and passes their answers to `take` in order.
  [[nodiscard]] bool ask(std::string_view name, std::string_view commands, std::uint64_t answers,
                         const std::function<void(const Answer&)>& take);

  // Sends one command without CR LF and returns its answer, whatever it is.
  std::optional<Response> ask(std::string_view command);
  // Sends one command without CR LF. An answer other than this code or NOT_FOUND is a failure.
  std::optional<Response> ask(std::string_view command, ReplyCode wanted);

  // Sends commands, each with its CR LF, and returns their answers in order, whatever they are.
  std::optional<std::vector<Response>> ask_together(std::string_view name,
                                                    std::string_view commands,
                                                    std::uint64_t answers);

  // Sends a command such as stats-tube. On NOT_FOUND returns no lines and sets `is_there` to false.
  std::optional<StatsText> ask_stats(std::string_view command, bool& is_there);
  std::optional<std::vector<std::string>> ask_list();

  // Sets failure() for an unwanted answer: the server does not know the command, or refuses it.
  void refuse(std::string_view command, ReplyCode code, std::string_view line);
  // Sets failure() for an answer that cannot be parsed: the server is no beanstalk server.
  void cannot_read(std::string_view command);

  const Failure& failure() const { return failure_; }
  const Address& address() const { return address_; }

 private:
  bool fail(std::string reason, int status);

  Address address_;
  Duration patience_;
  std::optional<Dialogue> dialogue_;
  std::vector<int> watched_;
  std::function<bool()> on_ready_;
  Failure failure_;
};

}  // namespace haricot::tool
