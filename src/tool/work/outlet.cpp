#include "tool/work/outlet.hpp"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "haricot/base/check.hpp"
#include "tool/cli/output.hpp"

namespace haricot::tool {

// A pipe with room accepts PIPE_BUF bytes without blocking. A stopped terminal may accept fewer.
Outlet::Outlet(int descriptor)
    : descriptor_(descriptor),
      is_terminal_(::isatty(descriptor) != 0),
      piece_bytes_(is_terminal_ ? 256 : PIPE_BUF) {}

void Outlet::add(std::string_view bytes) {
  if (failure_ == 0) pending_ += bytes;
}

void Outlet::write_some() {
  std::size_t written = 0;
  while (failure_ == 0 && written < pending_.size()) {
    pollfd wanted{descriptor_, POLLOUT, 0};
    if (::poll(&wanted, 1, 0) <= 0) break;
    const std::size_t bytes = std::min(pending_.size() - written, piece_bytes_);
    const ssize_t count = ::write(descriptor_, pending_.data() + written, bytes);
    if (count >= 0) written += static_cast<std::size_t>(count);
    if (count < 0 && errno == EAGAIN) break;
    if (count < 0 && errno != EINTR) failure_ = errno;
  }
  pending_.erase(0, failure_ == 0 ? written : pending_.size());
}

void Outlet::finish(int patience_ms) {
  while (has_more()) {
    pollfd wanted{descriptor_, POLLOUT, 0};
    if (::poll(&wanted, 1, patience_ms) == 0) return;
    write_some();
  }
}

void LinePrefix::take(std::string_view bytes, Outlet& to) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    CHECK(line_.size() < kLineBytesMax);
    const std::size_t room = kLineBytesMax - line_.size();
    const std::size_t taken = std::min(end == std::string_view::npos ? bytes.size() : end, room);
    line_ += bytes.substr(0, taken);
    bytes.remove_prefix(taken);
    const bool is_end = !bytes.empty() && bytes.front() == '\n';
    if (is_end) bytes.remove_prefix(1);
    if (!is_end && line_.size() < kLineBytesMax) return;
    add_line(to);
  }
}

void LinePrefix::add_line(Outlet& to) {
  to.add(prefix_ + (to.is_terminal() ? safe_lines(line_) : line_) + "\n");
  line_.clear();
}

void LinePrefix::finish(Outlet& to) {
  if (!line_.empty()) add_line(to);
}

}  // namespace haricot::tool
