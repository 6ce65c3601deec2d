#include "os/log.hpp"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <new>
#include <optional>

#include "haricot/base/number.hpp"

namespace haricot::os {
namespace {

static_assert(Log::kKeptBytesMax >= PIPE_BUF);

// Returns the priority of syslog(3).
char priority_of(Level level) {
  switch (level) {
    case Level::error:
      return '3';
    case Level::warning:
      return '4';
    case Level::info:
      return '6';
    case Level::debug:
      return '7';
  }
  return '6';
}

}  // namespace

bool names_file(const char* journal_stream, dev_t device, ino_t inode) {
  if (journal_stream == nullptr) return false;
  std::string_view text = journal_stream;
  const auto device_named = take_number(text);
  if (!device_named || !text.starts_with(':')) return false;
  text.remove_prefix(1);
  const auto inode_named = take_number(text);
  return inode_named && text.empty() && *device_named == device && *inode_named == inode;
}

// The variable alone is not enough: a server whose stderr is redirected to a file inherits it, too.
bool is_journal(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 &&
         names_file(std::getenv("JOURNAL_STREAM"), status.st_dev, status.st_ino);
}

// Without memory the event is lost.
void Log::event(Level level, std::string_view name, LogFields fields) {
  if (!wants(level)) return;
  try {
    line_.clear();
    append(level, name, fields);
    if (kept_.size() + line_.size() > kKeptBytesMax) flush();
    if (kept_.size() + line_.size() > kKeptBytesMax) {
      ++dropped_;
      return;
    }
    if (dropped_ > 0) {
      line_.clear();
      append(Level::warning, "log-lines-dropped", {{"lines", dropped_}});
      append(level, name, fields);
    }
    kept_ += line_;
    dropped_ = 0;
  } catch (const std::bad_alloc&) {
    ++dropped_;
  }
}

void Log::append(Level level, std::string_view name, LogFields fields) {
  std::optional<std::int64_t> time;
  if (style_.for_journal) {
    line_ += {'<', priority_of(level), '>'};
  } else {
    time = wall_clock_();
  }
  append_log_line(line_, style_.format, time, level, name, fields);
  line_ += '\n';
}

// A pipe is writable if it has room for PIPE_BUF bytes, so a piece of that size never blocks.
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
