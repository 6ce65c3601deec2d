#include "os/inherited.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "haricot/base/number.hpp"
#include "os/parcel.hpp"

namespace haricot::os {
namespace {

constexpr int kFirstInherited = 3;
static_assert(kFirstInherited == STDERR_FILENO + 1);

}  // namespace

std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> names;
  while (true) {
    const std::size_t end = text.find(kNameSeparator);
    names.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return names;
    text.remove_prefix(end + 1);
  }
}

Inherited take_inherited() {
  const char* pid_text = std::getenv("LISTEN_PID");
  const char* count_text = std::getenv("LISTEN_FDS");
  if (pid_text == nullptr || count_text == nullptr) return {};
  // Descriptors for another process are not used, nor are any if the process or their number is
  // missing.
  const std::optional<int> pid = read_number<int>(pid_text);
  const std::optional<int> count = read_number<int>(count_text);
  if (pid != ::getpid() || !count || *count <= 0) return {};
  const char* names_text = std::getenv("LISTEN_FDNAMES");
  std::vector<std::string> names = split_names(names_text == nullptr ? "" : names_text);
  ::unsetenv("LISTEN_PID");
  ::unsetenv("LISTEN_FDS");
  ::unsetenv("LISTEN_FDNAMES");

  Inherited result;
  for (int i = 0; i < *count; ++i) {
    const auto index = static_cast<std::size_t>(i);
    std::string name = index < names.size() ? std::move(names[index]) : std::string();
    const int number = kFirstInherited + i;
    auto& list = Parcel::is_part(name) ? result.parcel : result.sockets;
    list.push_back({std::move(name), Descriptor(number)});
    // The users of a missing descriptor reject it, and with it all others.
    if (::fcntl(number, F_SETFD, FD_CLOEXEC) != 0) break;
  }
  return result;
}

}  // namespace haricot::os
