// The service manager's end of sd_notify(3): a datagram socket to which a server writes.

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

  // Binds to a path, or to an abstract name if it begins with '@'. Closes the previous socket, and
  // replaces a file at the path.
  [[nodiscard]] bool open(const std::string& name);
  void close();

  // Receives the next message; nothing if none comes in time.
  std::optional<std::string> receive(std::chrono::milliseconds deadline = kPatience);
  // Receives the next message and its descriptor, which the caller owns then; -1: it has none.
  std::optional<std::string> receive_with_descriptor(
      int& descriptor, std::chrono::milliseconds deadline = kPatience);
  // Receives messages up to one with this line, and returns all of them.
  std::vector<std::string> receive_until(const std::string& line,
                                         std::chrono::milliseconds deadline = kPatience);
  // Receives the pending messages.
  std::vector<std::string> receive_all();

 private:
  int descriptor_ = -1;
};

// Returns true if one of the lines of a message is this one.
bool has_line(const std::string& message, const std::string& line);

}  // namespace haricot::test
