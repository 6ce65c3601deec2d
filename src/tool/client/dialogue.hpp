// A connection on which many commands go out at once and each answer is checked, until all are
// there: for what is prepared before a measurement and cleared away after it.

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

// What to say about an answer that does not belong to the command.
std::string describe_unexpected(std::string_view command, const Answer& answer);

class Dialogue final {
 public:
  // Whether an answer is a good one. The answer is valid during the call.
  using Check = std::function<bool(const Answer& answer)>;

  // How long the server may take for an answer, or for each 64 KiB that go either way meanwhile. So
  // one that says a little now and then is as late as one that says nothing.
  explicit Dialogue(Duration patience) : patience_(patience) {}

  void set_patience(Duration patience) { patience_ = patience; }

  // Has the bodies of answers kept, for checks to take them.
  void keep_bodies() { parser_.keep_bodies(); }
  // While an answer is waited for, calls this when one of the descriptors can be read. False: run()
  // gives up, and so returns false.
  void also_watch(std::vector<int> descriptors, std::function<bool()> on_ready) {
    watched_ = std::move(descriptors);
    on_ready_ = std::move(on_ready);
  }

  [[nodiscard]] bool open(const Address& address, std::string& error);

  // Sends the commands, called `name` in messages, and waits for so many answers to them. False:
  // the connection has no use any more, and `error` says why.
  [[nodiscard]] bool run(std::string_view name, std::string_view commands, std::uint64_t answers,
                         const Check& check, std::string& error);

  // The same for commands which are all to be answered with this code.
  [[nodiscard]] bool run(std::string_view name, std::string_view commands, std::uint64_t answers,
                         ReplyCode code, std::string& error);

  // Closes the writing side, and waits until the server has closed the connection and so given back
  // the jobs that the connection held; at most as long as the patience.
  void finish();

  // What the server has said that is no answer of a beanstalk server; empty if nothing was.
  const std::string& foreign_words() const { return foreign_words_; }

  // Leaves the connection open, for the caller.
  os::Descriptor take_socket() { return std::move(socket_); }

 private:
  void mark_progress(std::size_t bytes, bool is_answer);
  bool send_some(std::string_view& commands, std::string& error);
  bool receive(std::string_view name, std::uint64_t& answers, const Check& check,
               std::string& error);
  bool wait(bool to_send, std::string& error);

  Duration patience_;
  Instant deadline_;             // For what is due next.
  std::size_t bytes_moved_ = 0;  // Since the deadline was set.
  bool is_answering_ = false;    // A part of an answer is there.
  os::Descriptor socket_;
  AnswerParser parser_;
  std::string buffer_;
  std::string foreign_words_;
  std::vector<int> watched_;
  std::function<bool()> on_ready_;
};

// Ends the writing side of a connection and reads until the server has closed its own, or until the
// deadline.
void drain_to_end(int socket, Instant deadline);

}  // namespace haricot::tool
