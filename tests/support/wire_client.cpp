#include "support/wire_client.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "support/server_process.hpp"

namespace haricot::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kReadChunkBytes = 65536;
constexpr std::size_t kEscapedBytesMax = 2000;
constexpr std::string_view kTimedOut = "timed out";
constexpr std::string_view kEndOfStream = "end of stream";

std::string errno_text(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

// Returns the size of the body after this answer line, including CR LF; 0 if there is none.
std::size_t bytes_after(std::string_view line) {
  for (const std::string_view word : {"RESERVED ", "FOUND ", "OK "}) {
    if (!line.starts_with(word)) continue;
    const std::string_view number = line.substr(line.rfind(' ') + 1);
    std::size_t bytes = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), bytes);
    if (error != std::errc() || end != number.data() + number.size()) return 0;
    return bytes + 2;
  }
  return 0;
}

void append_escaped(std::string& text, std::string_view bytes) {
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\r') {
      text += "\\r";
    } else if (c == '\n') {
      text += "\\n";
    } else if (c == '\\') {
      text += "\\\\";
    } else if (byte < 0x20 || byte > 0x7e) {
      char code[8];
      std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned>(byte));
      text += code;
    } else {
      text += c;
    }
  }
}

}  // namespace

std::string escaped(std::string_view bytes) {
  std::string text;
  if (bytes.size() <= kEscapedBytesMax) {
    append_escaped(text, bytes);
    return text;
  }
  append_escaped(text, bytes.substr(0, kEscapedBytesMax / 2));
  text += " ...(" + std::to_string(bytes.size() - kEscapedBytesMax) + " bytes left out)... ";
  append_escaped(text, bytes.substr(bytes.size() - kEscapedBytesMax / 2));
  return text;
}

WireClient::~WireClient() {
  close();
}

bool WireClient::connect_tcp(std::uint16_t port, const std::string& address) {
  close();
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  const sockaddr* target = nullptr;
  socklen_t length = 0;
  if (::inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1) {
    target = reinterpret_cast<const sockaddr*>(&v4);
    length = sizeof v4;
  } else if (::inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) == 1) {
    target = reinterpret_cast<const sockaddr*>(&v6);
    length = sizeof v6;
  } else {
    failure_ = "not an address: " + address;
    return false;
  }
  fd_ = ::socket(target->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd_ < 0 || ::connect(fd_, target, length) != 0) {
    failure_ = errno_text("connect");
    close();
    return false;
  }
  const int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return true;
}

bool WireClient::connect_unix(const std::string& path) {
  close();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    failure_ = "too long for a socket path: " + path;
    return false;
  }
  std::copy(path.begin(), path.end(), address.sun_path);
  fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd_ < 0 || ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    failure_ = errno_text("connect");
    close();
    return false;
  }
  return true;
}

bool WireClient::connect(const ServerProcess& server) {
  return server.unix_path().empty() ? connect_tcp(server.port()) : connect_unix(server.unix_path());
}

bool WireClient::send(std::string_view bytes) {
  const auto deadline = Clock::now() + kAnswerDeadline;
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) {
      failure_ = errno_text("send");
      return false;
    }
    short seen = 0;
    if (!wait_for(POLLIN | POLLOUT, deadline, seen)) return false;
    if ((seen & POLLOUT) == 0 && !fill(deadline)) return false;
  }
  return true;
}

bool WireClient::send_line(std::string_view text) {
  return send(std::string(text) + "\r\n");
}

std::size_t WireClient::send_without_reading(std::string_view bytes, Milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n =
        ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      sent += static_cast<std::size_t>(n);
      continue;
    }
    if (errno == EINTR) continue;
    short seen = 0;
    if (errno != EAGAIN || !wait_for(POLLOUT, deadline, seen)) break;
  }
  return sent;
}

std::optional<std::string> WireClient::read_line(Milliseconds deadline) {
  const auto end = Clock::now() + deadline;
  const auto length = find_line_end(end);
  if (!length) return std::nullopt;
  auto line = take(*length, end);
  line->resize(line->size() - 2);
  return line;
}

std::optional<std::string> WireClient::read_exact(std::size_t n, Milliseconds deadline) {
  return take(n, Clock::now() + deadline);
}

std::optional<std::string> WireClient::read_answer(Milliseconds deadline) {
  const auto end = Clock::now() + deadline;
  const auto length = find_line_end(end);
  if (!length) return std::nullopt;
  const std::string_view line = std::string_view(input_).substr(taken_, *length - 2);
  return take(*length + bytes_after(line), end);
}

std::string WireClient::ask(std::string_view text, Milliseconds deadline) {
  if (!send_line(text)) return "<" + failure_ + ">";
  auto answer = read_answer(deadline);
  return answer ? *answer : "<" + failure_ + ">";
}

std::string WireClient::put(std::string_view body, std::uint32_t pri, std::uint32_t delay,
                            std::uint32_t ttr) {
  std::string text = "put " + std::to_string(pri) + " " + std::to_string(delay) + " " +
                     std::to_string(ttr) + " " + std::to_string(body.size()) + "\r\n";
  text.append(body);
  return ask(text);
}

bool WireClient::has_input_within(Milliseconds time) {
  if (buffered() > 0) return true;
  short seen = 0;
  return wait_for(POLLIN, Clock::now() + time, seen);
}

bool WireClient::at_eof(Milliseconds deadline) {
  if (buffered() > 0) return false;
  return !fill(Clock::now() + deadline) && failure_ == kEndOfStream;
}

bool WireClient::shutdown_write() {
  return ::shutdown(fd_, SHUT_WR) == 0;
}

void WireClient::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  input_.clear();
  taken_ = 0;
}

void WireClient::reset() {
  if (fd_ < 0) return;
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

bool WireClient::wait_for(short events, Deadline deadline, short& seen) {
  for (;;) {
    const auto left = std::chrono::ceil<Milliseconds>(deadline - Clock::now()).count();
    pollfd entry{.fd = fd_, .events = events, .revents = 0};
    const int n = ::poll(&entry, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30)));
    if (n > 0) {
      seen = entry.revents;
      return true;
    }
    if (n < 0 && errno != EINTR) {
      failure_ = errno_text("poll");
      return false;
    }
    if (n == 0 && left <= 0) {
      failure_ = kTimedOut;
      return false;
    }
  }
}

bool WireClient::fill(Deadline deadline) {
  if (fd_ < 0) {
    failure_ = "not connected";
    return false;
  }
  if (taken_ > 0 && taken_ == input_.size()) {
    input_.clear();
    taken_ = 0;
  }
  for (;;) {
    short seen = 0;
    if (!wait_for(POLLIN, deadline, seen)) return false;
    const std::size_t size = input_.size();
    input_.resize(size + kReadChunkBytes);
    const ssize_t n = ::recv(fd_, input_.data() + size, kReadChunkBytes, MSG_DONTWAIT);
    const int error = errno;
    input_.resize(size + (n > 0 ? static_cast<std::size_t>(n) : 0));
    if (n > 0) return true;
    if (n < 0 && (error == EINTR || error == EAGAIN)) continue;
    // A peer that resets the connection counts as closed.
    failure_ = n == 0 || error == ECONNRESET ? std::string(kEndOfStream) : std::strerror(error);
    return false;
  }
}

// Returns the length of the first line with its CR LF, once it is complete.
std::optional<std::size_t> WireClient::find_line_end(Deadline deadline) {
  std::size_t searched = 0;
  for (;;) {
    const std::string_view input = std::string_view(input_).substr(taken_);
    const std::size_t at = input.find("\r\n", searched);
    if (at != std::string_view::npos) return at + 2;
    searched = input.empty() ? 0 : input.size() - 1;
    if (!fill(deadline)) return std::nullopt;
  }
}

std::optional<std::string> WireClient::take(std::size_t n, Deadline deadline) {
  while (buffered() < n) {
    if (!fill(deadline)) return std::nullopt;
  }
  std::string bytes = input_.substr(taken_, n);
  taken_ += n;
  return bytes;
}

}  // namespace haricot::test
