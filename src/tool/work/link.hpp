// A connection that sends commands and receives answers without blocking.

#pragma once

#include <string>
#include <string_view>

#include "haricot/base/time.hpp"
#include "os/descriptor.hpp"
#include "tool/client/address.hpp"
#include "tool/client/answer_parser.hpp"

namespace haricot::tool {

class Link final {
 public:
  enum class Event : unsigned char {
    nothing,  // No complete answer has arrived.
    answer,
    lost,  // The connection is closed; failure() has the reason.
  };

  // Connects, for at most `patience`. Returns false on failure; failure() has the reason.
  [[nodiscard]] bool open(const Address& address, Duration patience);
  void close();
  bool is_open() const { return static_cast<bool>(socket_); }

  // Queues a command without CR LF, and sends as much as the socket accepts.
  void send(std::string_view command);
  // Sends pending commands, receives available input, and takes the next answer. Never blocks. Must
  // be called until it returns another event than `answer`. The answer is valid until the next
  // call.
  Event next(Answer& answer);

  int descriptor() const { return socket_.get(); }
  bool has_more_to_send() const { return !unsent_.empty(); }
  const std::string& failure() const { return failure_; }

 private:
  void send_some();
  bool receive();
  Event lose(std::string reason);

  os::Descriptor socket_;
  AnswerParser parser_;
  std::string unsent_;
  std::string buffer_;
  std::string_view received_;  // Unparsed part of the buffer.
  std::string failure_;
};

}  // namespace haricot::tool
