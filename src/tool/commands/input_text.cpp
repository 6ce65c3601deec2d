#include "tool/commands/input_text.hpp"

#include <fcntl.h>
#include <sys/stat.h>
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

int InputText::descriptor() const {
  return file_ ? file_.get() : STDIN_FILENO;
}

std::optional<std::int64_t> InputText::position() const {
  struct stat status {};
  if (::fstat(descriptor(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const off_t position = ::lseek(descriptor(), 0, SEEK_CUR);
  return position < 0 ? std::nullopt : std::optional<std::int64_t>(position);
}

bool InputText::go_back(const Errand& errand, std::int64_t position) {
  if (::lseek(descriptor(), position, SEEK_SET) == position) return true;
  errand.warn("cannot read " + name_ + " again: " + std::strerror(errno));
  return false;
}

bool InputText::read(const Errand& errand, std::size_t bytes_max, std::string& text,
                     bool& is_over) {
  ssize_t count = 0;
  do {
    count = ::read(descriptor(), buffer_.data(), buffer_.size());
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
