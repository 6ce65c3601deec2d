// The service manager's end of sd_notify(3): a datagram socket that a server writes to.

#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "support/eventually.hpp"

namespace haricot::test {

class NotifySocket final {
 public:
  NotifySocket() = default;
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;
  ~NotifySocket() { close(); }

  // Binds to a path, or to an abstract name if it begins with '@'. What was open before is closed,
  // and a file that is in the stream goes.
  [[nodiscard]] bool open(const std::string& name);
  void close();

  // The next message; nothing if none comes in time.
  std::optional<std::string> receive(std::chrono::milliseconds deadline = kPatience);
  // The same with the descriptor that comes with it; -1: none does. It is the caller's then.
  std::optional<std::string> receive_with_descriptor(
      int& descriptor, std::chrono::milliseconds deadline = kPatience);
  // All messages up to one with this line, that one included.
  std::vector<std::string> receive_until(const std::string& line,
                                         std::chrono::milliseconds deadline = kPatience);
  // What is there already.
  std::vector<std::string> receive_all();

 private:
  int descriptor_ = -1;
};

// Whether one of the lines of a message is this one.
bool has_line(const std::string& message, const std::string& line);

}  // namespace haricot::test
