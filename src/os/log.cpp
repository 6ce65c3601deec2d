#include "os/log.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

namespace haricot::os {
namespace {

constexpr std::string_view kPrefix = "haricotd: ";

void append_printable(std::string& to, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  for (const char c : text) {
    if (c >= ' ' && c <= '~') {
      to += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    to += "\\x";
    to += kHex[byte >> 4];
    to += kHex[byte & 15];
  }
}

}  // namespace

void Log::line(std::string_view text) {
  // The longest line is four times what a command or a path may be.
  if (kept_.size() + kPrefix.size() + 4 * text.size() + 1 > kKeptBytesMax) {
    flush();
    if (kept_.size() + kPrefix.size() + 4 * text.size() + 1 > kKeptBytesMax) {
      ++dropped_;
      return;
    }
  }
  if (dropped_ > 0) {
    kept_ += kPrefix;
    kept_ += std::to_string(dropped_) + " lines dropped: stderr was not read\n";
    dropped_ = 0;
  }
  kept_ += kPrefix;
  append_printable(kept_, text);
  kept_ += '\n';
}

// A pipe is writable when it has room for PIPE_BUF bytes, so a piece of that size never blocks.
void Log::flush() {
  std::size_t written = 0;
  while (written < kept_.size() && is_writable()) {
    const std::size_t piece = std::min<std::size_t>(kept_.size() - written, PIPE_BUF);
    const ssize_t result = ::write(descriptor_, kept_.data() + written, piece);
    if (result <= 0) break;
    written += static_cast<std::size_t>(result);
  }
  kept_.erase(0, written);
}

bool Log::is_writable() const {
  pollfd poll{.fd = descriptor_, .events = POLLOUT, .revents = 0};
  return ::poll(&poll, 1, 0) == 1 && (poll.revents & POLLOUT) != 0;
}

}  // namespace haricot::os
