#include "tool/commands/input_text.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace haricot::tool {

bool InputText::open(const Errand& errand, const std::string& path) {
  name_ = path.empty() ? "stdin" : path;
  if (path.empty()) return true;
  file_ = os::Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file_) errand.warn("cannot open " + path + ": " + std::strerror(errno));
  return static_cast<bool>(file_);
}

bool InputText::read(const Errand& errand, std::size_t bytes_max, std::string& text,
                     bool& is_over) {
  const int descriptor = file_ ? file_.get() : STDIN_FILENO;
  ssize_t count = 0;
  do {
    count = ::read(descriptor, buffer_.data(), buffer_.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) {
    errand.warn("cannot read " + name_ + ": " + std::strerror(errno));
    return false;
  }
  is_over = count == 0;
  text.append(buffer_.data(), static_cast<std::size_t>(count));
  if (text.size() <= bytes_max) return true;
  errand.warn(name_ + " has more bytes than a job can have");
  return false;
}

}  // namespace haricot::tool
