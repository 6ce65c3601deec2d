// A connection on which commands go out and answers come in while other things go on.

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
    nothing,  // There is no whole answer yet.
    answer,
    lost,  // The connection is closed, and failure() says why.
  };

  // Waits at most this long. False: failure() says why.
  [[nodiscard]] bool open(const Address& address, Duration patience);
  void close();
  bool is_open() const { return static_cast<bool>(socket_); }

  // Without CR LF. Sends what can be sent at once.
  void send(std::string_view command);
  // Sends what is left, receives what is there, and takes the next answer. Never waits. To be
  // called until it returns another event than `answer`. The answer is valid until the next call.
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
  std::string_view received_;  // Of the buffer, not parsed yet.
  std::string failure_;
};

}  // namespace haricot::tool
