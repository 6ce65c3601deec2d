#include "tool/commands/input_text.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tool/cli/interrupt.hpp"

namespace haricot::tool {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
// Longest time until a signal is noticed that arrives between is_interrupted() and poll().
constexpr int kLookMs = 200;

}  // namespace

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t") == std::string_view::npos;
}

bool InputText::open(const Errand& errand, const std::string& path) {
  const bool is_stdin = path.empty() || path == "-";
  name_ = is_stdin ? "stdin" : path;
  if (!is_stdin) file_ = os::Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!is_stdin && !file_) {
    errand.warn("cannot open " + path + ": " + std::strerror(errno));
    return false;
  }
  struct stat status {};
  const std::optional<std::int64_t> begin = position();
  if (begin && ::fstat(descriptor(), &status) == 0 && status.st_size > *begin) {
    bytes_ = static_cast<std::uint64_t>(status.st_size - *begin);
  }
  return true;
}

int InputText::descriptor() const {
  return file_ ? file_.get() : STDIN_FILENO;
}

std::optional<std::int64_t> InputText::position() const {
  struct stat status {};
  if (::fstat(descriptor(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const off_t position = ::lseek(descriptor(), 0, SEEK_CUR);
  return position < 0 ? std::nullopt : std::optional<std::int64_t>(position);
}

bool InputText::rewind(const Errand& errand, std::int64_t position) {
  bytes_read_ = 0;
  if (::lseek(descriptor(), position, SEEK_SET) == position) return true;
  errand.warn("cannot read " + name_ + " again: " + std::strerror(errno));
  return false;
}

bool InputText::read(const Errand& errand, std::size_t bytes_max, std::string& text,
                     bool& is_over) {
  pollfd wanted{descriptor(), POLLIN, 0};
  while (!is_interrupted() && ::poll(&wanted, 1, kLookMs) == 0) {
  }
  ssize_t count = -1;
  do {
    if (is_interrupted()) return false;
    count = ::read(descriptor(), buffer_.data(), buffer_.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) {
    errand.warn("cannot read " + name_ + ": " + std::strerror(errno));
    return false;
  }
  is_over = count == 0;
  text.append(buffer_.data(), static_cast<std::size_t>(count));
  bytes_read_ += static_cast<std::uint64_t>(count);
  if (text.size() <= bytes_max) return true;
  errand.warn(name_ + " is larger than any job may be");
  return false;
}

bool InputText::read_lines(const Errand& errand, std::size_t bytes_max,
                           const std::function<Over(std::string_view)>& take,
                           const std::function<Over()>& pause, Over& over) {
  std::string text;
  bool is_first = true;
  for (bool is_over = false; !is_over;) {
    // The rest of the last piece contains no line end.
    std::size_t from = text.size();
    if (!read(errand, bytes_max, text, is_over)) return false;
    if (is_over && !text.empty() && !text.ends_with('\n')) text += '\n';
    std::size_t begin = 0;
    for (std::size_t at = 0; (at = text.find('\n', from)) != std::string::npos;) {
      std::string_view line = std::string_view(text).substr(begin, at - begin);
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (is_first && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
      is_first = false;
      if ((over = take(line))) return true;
      begin = from = at + 1;
    }
    text.erase(0, begin);
    if ((over = pause())) return true;
  }
  return true;
}

}  // namespace haricot::tool
