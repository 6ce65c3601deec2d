#include "support/notify_socket.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>

namespace haricot::test {

bool NotifySocket::open(const std::string& name) {
  close();
  sockaddr_un address{};
  if (name.size() > sizeof address.sun_path) return false;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name.data(), name.size());
  const bool is_abstract = name[0] == '@';
  if (is_abstract) address.sun_path[0] = '\0';
  if (!is_abstract) ::unlink(name.c_str());
  descriptor_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  return descriptor_ >= 0 &&
         ::bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), length) == 0;
}

void NotifySocket::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

std::optional<std::string> NotifySocket::receive(std::chrono::milliseconds deadline) {
  int descriptor = -1;
  std::optional<std::string> message = receive_with_descriptor(descriptor, deadline);
  if (descriptor >= 0) ::close(descriptor);
  return message;
}

std::optional<std::string> NotifySocket::receive_with_descriptor(
    int& descriptor, std::chrono::milliseconds deadline) {
  descriptor = -1;
  pollfd poll{.fd = descriptor_, .events = POLLIN, .revents = 0};
  if (::poll(&poll, 1, static_cast<int>(deadline.count())) != 1) return std::nullopt;
  std::array<char, 4096> buffer;
  iovec piece{.iov_base = buffer.data(), .iov_len = buffer.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof descriptor)> control;
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t size = ::recvmsg(descriptor_, &message, MSG_CMSG_CLOEXEC);
  if (size < 0) return std::nullopt;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header != nullptr) std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  return std::string(buffer.data(), static_cast<std::size_t>(size));
}

std::vector<std::string> NotifySocket::receive_until(const std::string& line,
                                                     std::chrono::milliseconds deadline) {
  std::vector<std::string> result;
  const auto end = std::chrono::steady_clock::now() + deadline;
  while (result.empty() || !has_line(result.back(), line)) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0) break;
    const std::optional<std::string> message = receive(left);
    if (!message) break;
    result.push_back(*message);
  }
  return result;
}

std::vector<std::string> NotifySocket::receive_all() {
  std::vector<std::string> result;
  while (const auto message = receive(std::chrono::milliseconds(0))) result.push_back(*message);
  return result;
}

bool has_line(const std::string& message, const std::string& line) {
  return ("\n" + message).find("\n" + line + "\n") != std::string::npos;
}

}  // namespace haricot::test
