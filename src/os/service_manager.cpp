#include "os/service_manager.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/base/number.hpp"
#include "os/clock.hpp"
#include "os/sealed_state.hpp"

namespace haricot::os {

// Descriptors that are passed to this process -----------------------------------------------------

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

PassedDescriptors take_passed_descriptors() {
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

  PassedDescriptors result;
  for (int i = 0; i < *count; ++i) {
    const auto index = static_cast<std::size_t>(i);
    std::string name = index < names.size() ? std::move(names[index]) : std::string();
    const int number = kFirstInherited + i;
    auto& list = SealedState::is_part(name) ? result.state : result.sockets;
    list.push_back({std::move(name), Descriptor(number)});
    // The users of a missing descriptor reject it, and with it all others.
    if (::fcntl(number, F_SETFD, FD_CLOEXEC) != 0) break;
  }
  return result;
}

// Reports -----------------------------------------------------------------------------------------

namespace {

constexpr int kPatienceMilliseconds = 1000;
constexpr int kBarrierMilliseconds = 5000;
// Requested every second; between two requests there may be a sort of all jobs, or a slow disk.
constexpr std::string_view kMoreTime = "EXTEND_TIMEOUT_USEC=60000000\n";

std::string take_from_environment(const char* name) {
  const char* value = std::getenv(name);
  std::string result = value != nullptr ? value : "";
  ::unsetenv(name);
  return result;
}

// A line break in the text would begin another assignment.
std::string assignment(std::string_view key, std::string_view text) {
  std::string result(key);
  for (const char c : text) result += c == '\n' ? ' ' : c;
  return result + '\n';
}

}  // namespace

bool Notifier::open(std::string& error) {
  const std::string name = take_from_environment("NOTIFY_SOCKET");
  const std::string interval = take_from_environment("WATCHDOG_USEC");
  const std::string pid = take_from_environment("WATCHDOG_PID");
  if (name.empty()) return true;
  if (!take_address(name)) {
    error =
        "cannot notify the service manager: NOTIFY_SOCKET is neither a path nor an abstract "
        "name: " +
        name;
    return false;
  }
  if (!connect()) {
    error = "cannot notify the service manager on " + name + ": " + std::strerror(errno);
    return false;
  }
  read_watchdog(interval, pid);
  return true;
}

bool Notifier::take_address(const std::string& name) {
  const bool is_abstract = name[0] == '@';
  if (name[0] != '/' && !is_abstract) return false;
  // A path has a zero after it; an abstract name has one in front, which replaces the '@'.
  const std::size_t room = sizeof address_.sun_path - (is_abstract ? 0 : 1);
  if (name.size() > room || name.size() < 2) return false;
  address_.sun_family = AF_UNIX;
  std::memcpy(address_.sun_path, name.data(), name.size());
  if (is_abstract) address_.sun_path[0] = '\0';
  address_bytes_ =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + (is_abstract ? 0 : 1));
  return true;
}

bool Notifier::connect() {
  Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return false;
  const auto* address = reinterpret_cast<const sockaddr*>(&address_);
  if (::connect(socket.get(), address, address_bytes_) != 0) return false;
  socket_ = std::move(socket);
  return true;
}

// The watchdog may belong to another process: a wrapper that started this one, or that this one has
// started.
void Notifier::read_watchdog(std::string_view interval, std::string_view pid) {
  constexpr std::uint64_t kLongest = std::numeric_limits<std::int64_t>::max() / 1000;
  const std::optional<std::uint64_t> microseconds = read_number(interval);
  if (!microseconds || *microseconds == 0 || *microseconds > kLongest) return;
  if (!pid.empty() && read_number(pid) != static_cast<std::uint64_t>(::getpid())) return;
  keep_alive_interval_ = Duration::nanoseconds(static_cast<std::int64_t>(*microseconds) * 1000 / 2);
  next_keep_alive_ = read_clock();
}

// Allocates nothing: a server that has taken over is ready even if memory is short.
void Notifier::ready(std::string_view status) {
  std::array<char, 128> text{};
  const int bytes = std::snprintf(text.data(), text.size(), "READY=1\nSTATUS=%.*s\n",
                                  static_cast<int>(status.size()), status.data());
  CHECK(bytes > 0 && static_cast<std::size_t>(bytes) < text.size());
  send(std::string_view(text.data(), static_cast<std::size_t>(bytes)), Urgency::must_arrive);
}

void Notifier::stopping() {
  send("STOPPING=1\n" + assignment("STATUS=", "stopping"), Urgency::must_arrive);
}

void Notifier::status(std::string_view text) {
  send(assignment("STATUS=", text), Urgency::may_be_lost);
}

void Notifier::takes_time(std::string_view status) {
  send(std::string(kMoreTime) + assignment("STATUS=", status), Urgency::may_be_lost);
}

void Notifier::notify_watchdog(Instant now) {
  CHECK(keep_alive_interval_ > Duration{});  // Otherwise the loop would do nothing else.
  next_keep_alive_ = now + keep_alive_interval_;
  send("WATCHDOG=1\n", Urgency::may_be_lost);
}

bool Notifier::wait_for(int descriptor, Duration patience) {
  const Instant end = read_clock() + patience;
  for (Instant now = read_clock(); now < end; now = read_clock()) {
    keep_alive(now);
    pollfd poll{.fd = descriptor, .events = POLLIN, .revents = 0};
    if (::poll(&poll, 1, timeout_ms(now, std::min(end, next_keep_alive_))) == 1) return true;
  }
  return false;
}

bool Notifier::store(std::string_view name, int descriptor) {
  // Without FDPOLL=0 the manager would drop a socket as soon as its peer hangs up.
  const std::string text = "FDSTORE=1\n" + assignment("FDNAME=", name) + "FDPOLL=0\n";
  return send(text, descriptor, Urgency::must_arrive);
}

void Notifier::remove_stored(std::string_view name) {
  send("FDSTOREREMOVE=1\n" + assignment("FDNAME=", name), Urgency::must_arrive);
}

// The manager closes the descriptor of a barrier when it has handled all earlier messages.
bool Notifier::wait_until_read() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  const Descriptor here(ends[0]);
  Descriptor there(ends[1]);
  if (!send("BARRIER=1", there.get(), Urgency::must_arrive)) return false;
  there.reset();
  pollfd poll{.fd = here.get(), .events = 0, .revents = 0};
  return ::poll(&poll, 1, kBarrierMilliseconds) == 1;
}

bool Notifier::send(std::string_view text, int descriptor, Urgency urgency) {
  if (!socket_) return false;
  const std::span<const int> descriptors(&descriptor, descriptor >= 0 ? 1 : 0);
  DescriptorMessage message(text, descriptors);
  // The second try is for a manager that did not read, or was restarted meanwhile.
  for (int tries = 0; tries < 2; ++tries) {
    if (::sendmsg(socket_.get(), message.header(), MSG_NOSIGNAL) >= 0) return true;
    if (errno == ECONNREFUSED || errno == ENOTCONN) {
      if (!connect()) return false;
    } else if (errno == EAGAIN && urgency == Urgency::must_arrive) {
      pollfd poll{.fd = socket_.get(), .events = POLLOUT, .revents = 0};
      ::poll(&poll, 1, kPatienceMilliseconds);
    } else {
      return false;
    }
  }
  return false;
}

}  // namespace haricot::os
