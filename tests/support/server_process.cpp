#include "support/server_process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <span>
#include <string_view>

#include "support/port_choice.hpp"

extern char** environ;

namespace haricot::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kStartAttemptsMax = 10;
constexpr int kPollStepMs = 2;
// Maximum time in which a child becomes the server. An emulator implements vfork as fork, and may
// leave one of its locks locked in the child if other threads run at that moment.
constexpr std::chrono::seconds kExecPatience{10};
constexpr std::string_view kUnixPrefix = "unix:";

// Waits a moment between two checks of a process that reports no events.
void pause_between_looks() {
  ::poll(nullptr, 0, kPollStepMs);
}

std::string read_whole_file(const char* path) {
  std::string text;
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char chunk[16384];
  ssize_t n;
  while ((n = ::read(fd, chunk, sizeof chunk)) > 0) text.append(chunk, static_cast<std::size_t>(n));
  ::close(fd);
  return text;
}

// Splits at any run of blanks.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while ((at = line.find_first_not_of(' ', at)) != std::string_view::npos) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

// Calls `visit` with the words of each line of a table of the kernel, except its heading.
template <typename Visit>
void for_each_row(const char* path, Visit visit) {
  const std::string text = read_whole_file(path);
  std::size_t at = text.find('\n');
  while (at != std::string::npos && at + 1 < text.size()) {
    const std::size_t end = std::min(text.find('\n', at + 1), text.size());
    visit(words_of(std::string_view(text).substr(at + 1, end - at - 1)));
    at = end;
  }
}

// Returns the inodes of the sockets that the process has open.
std::set<std::string> sockets_of(pid_t pid) {
  std::set<std::string> inodes;
  const std::string folder = "/proc/" + std::to_string(pid) + "/fd";
  DIR* entries = ::opendir(folder.c_str());
  if (entries == nullptr) return inodes;
  while (const dirent* entry = ::readdir(entries)) {
    char target[64];
    const std::string path = folder + "/" + entry->d_name;
    const ssize_t n = ::readlink(path.c_str(), target, sizeof target);
    std::string_view name(target, n > 0 ? static_cast<std::size_t>(n) : 0);
    constexpr std::string_view kSocketPrefix = "socket:[";
    if (!name.starts_with(kSocketPrefix) || !name.ends_with(']')) continue;
    inodes.emplace(name.substr(kSocketPrefix.size(), name.size() - kSocketPrefix.size() - 1));
  }
  ::closedir(entries);
  return inodes;
}

// Returns true if one of the sockets listens on this TCP port, IPv4 or IPv6.
bool one_listens_on(std::uint16_t port, const std::set<std::string>& sockets) {
  char ending[8];
  std::snprintf(ending, sizeof ending, ":%04X", static_cast<unsigned>(port));
  bool found = false;
  for (const char* path : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    for_each_row(path, [&](const std::vector<std::string_view>& row) {
      constexpr std::string_view kStateListen = "0A";
      const bool listens = row.size() > 9 && row[1].ends_with(ending) && row[3] == kStateListen;
      if (listens && sockets.contains(std::string(row[9]))) found = true;
    });
    if (found) break;
  }
  return found;
}

bool one_listens_on(const std::string& unix_path, const std::set<std::string>& sockets) {
  bool found = false;
  for_each_row("/proc/net/unix", [&](const std::vector<std::string_view>& row) {
    constexpr std::string_view kFlagsAccepting = "00010000";
    const bool listens = row.size() > 7 && row[3] == kFlagsAccepting && row[7] == unix_path;
    if (listens && sockets.contains(std::string(row[6]))) found = true;
  });
  return found;
}

std::string captured_text(int fd) {
  std::string text;
  if (fd < 0) return text;
  char chunk[16384];
  ssize_t n;
  // pread does not move the offset, which is shared with the server.
  while ((n = ::pread(fd, chunk, sizeof chunk, static_cast<off_t>(text.size()))) > 0) {
    text.append(chunk, static_cast<std::size_t>(n));
  }
  return text;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

ExitStatus exit_status_of(int raw) {
  if (WIFSIGNALED(raw)) return {.code = -1, .signal = WTERMSIG(raw)};
  return {.code = WEXITSTATUS(raw), .signal = 0};
}

// Program of a child.
struct Start {
  char** arguments;  // The first one is the program.
  char** environment;
  const char* folder;  // Null: the folder of the test.
  pid_t parent;
  int output;
  int error;
  std::span<const int> descriptors;
};

// Makes the descriptors of the test 3, 4, ... of the child, whatever these were before.
bool place_descriptors(std::span<const int> descriptors) {
  constexpr int kFirst = 3;
  constexpr int kOutOfTheWay = 200;
  int moved[8];
  if (descriptors.size() > std::size(moved)) return false;
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    moved[i] = ::fcntl(descriptors[i], F_DUPFD_CLOEXEC, kOutOfTheWay);
    if (moved[i] < 0) return false;
  }
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    if (::dup2(moved[i], kFirst + static_cast<int>(i)) < 0) return false;
  }
  return true;
}

// Runs in the child between vfork and exec: only system calls, because the memory is the test's.
[[noreturn]] void become_server(const Start& start) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != start.parent) ::_exit(127);  // The test died before the line above.
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (start.folder != nullptr && ::chdir(start.folder) != 0) ::_exit(127);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing < 0 || ::dup2(nothing, 0) < 0) ::_exit(127);
  if (::dup2(start.output, 1) < 0 || ::dup2(start.error, 2) < 0) ::_exit(127);
  if (!place_descriptors(start.descriptors)) ::_exit(127);
  ::execve(start.arguments[0], start.arguments, start.environment);
  ::_exit(127);
}

// Uses vfork, because fork copies the page tables: up to 100 ms with a sanitizer.
pid_t start_child(const Start& start) {
  const pid_t child = ::vfork();
  if (child == 0) become_server(start);
  return child;
}

}  // namespace

const char* to_string(ServerKind kind) {
  switch (kind) {
    case ServerKind::haricot:
      return "haricotd";
    case ServerKind::beanstalkd_1_12:
      return "beanstalkd 1.12";
  }
  return "unknown";
}

std::optional<std::string> find_server_binary(ServerKind kind) {
  const char* path = nullptr;
  switch (kind) {
    case ServerKind::haricot:
      path = std::getenv("HARICOTD");
#ifdef HARICOTD_PATH
      if (path == nullptr) path = HARICOTD_PATH;
#endif
      break;
    case ServerKind::beanstalkd_1_12:
      path = std::getenv("BEANSTALKD");
      if (path == nullptr) path = "/usr/bin/beanstalkd";
      break;
  }
  if (path == nullptr || ::access(path, X_OK) != 0) return std::nullopt;
  return path;
}

std::string shown_version(const std::string& binary) {
  std::FILE* const output = ::popen((binary + " -v").c_str(), "r");
  if (output == nullptr) return "";
  char version[16] = "";
  const int found = std::fscanf(output, "beanstalkd %15[0-9.]", version);
  ::pclose(output);
  return found == 1 ? version : "";
}

ServerProcess::~ServerProcess() {
  stop();
  close_captures();
}

bool ServerProcess::start(const ServerOptions& options) {
  const auto deadline = Clock::now() + options.start_deadline;
  const bool is_unix = options.listen_address.starts_with(kUnixPrefix);
  for (int attempt = 0; attempt < kStartAttemptsMax; ++attempt) {
    std::vector<std::string> arguments = {"-l", options.listen_address};
    std::uint16_t port = 0;
    if (!is_unix) {
      port = choose_port();
      arguments.insert(arguments.end(), {"-p", std::to_string(port)});
    }
    arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
    if (!spawn(options, arguments)) return false;
    port_ = port;
    if (is_unix) unix_path_ = options.listen_address.substr(kUnixPrefix.size());

    switch (wait_until_listening(deadline)) {
      case StartResult::listening:
        return true;
      case StartResult::failed:
        return false;
      case StartResult::stuck:
        break;
      case StartResult::ended:
        // Retried only if another process has the address, as a listener or as a client.
        if (is_unix || !was_refused_its_address(options)) return false;
    }
  }
  return false;
}

bool ServerProcess::was_refused_its_address(const ServerOptions& options) const {
  constexpr int kCannotListen = 111;
  // Without the output, only the status is known.
  if (options.error_descriptor) return last_exit_->code == kCannotListen;
  return is_address_in_use(standard_error());
}

bool ServerProcess::launch(const ServerOptions& options) {
  return spawn(options, options.arguments);
}

bool ServerProcess::spawn(const ServerOptions& options, const std::vector<std::string>& arguments) {
  failure_.clear();
  last_exit_.reset();
  port_ = 0;
  unix_path_.clear();
  if (running()) {
    failure_ = "a server is running already";
    return false;
  }
  close_captures();
  output_capture_ = ::memfd_create("server-stdout", MFD_CLOEXEC);
  error_capture_ = ::memfd_create("server-stderr", MFD_CLOEXEC);
  if (output_capture_ < 0 || error_capture_ < 0) {
    failure_ = std::string("memfd_create: ") + std::strerror(errno);
    return false;
  }

  std::vector<std::string> words = options.launcher;
  words.push_back(options.binary);
  words.insert(words.end(), arguments.begin(), arguments.end());
  words_.clear();
  for (const std::string& argument : arguments) words_.append(argument).push_back('\0');
  std::vector<std::string> settings = options.environment;
  for (char** setting = environ; *setting != nullptr; ++setting) settings.emplace_back(*setting);
  std::vector<char*> argv = pointers_to(words);
  std::vector<char*> envp = pointers_to(settings);
  const Start start{
      .arguments = argv.data(),
      .environment = envp.data(),
      .folder = options.working_directory ? options.working_directory->c_str() : nullptr,
      .parent = ::getpid(),
      .output = output_capture_,
      .error = options.error_descriptor.value_or(error_capture_),
      .descriptors = options.descriptors,
  };
  const pid_t child = start_child(start);
  if (child < 0) {
    failure_ = std::string("vfork: ") + std::strerror(errno);
    return false;
  }
  pid_ = child;
  return true;
}

ServerProcess::StartResult ServerProcess::wait_until_listening(Clock::time_point deadline) {
  const auto exec_deadline = Clock::now() + kExecPatience;
  for (;;) {
    if (is_listening()) return StartResult::listening;
    if (!running()) {
      failure_ = "the server ended at once, code " + std::to_string(last_exit_->code) +
                 ", signal " + std::to_string(last_exit_->signal) + ", stderr: " + standard_error();
      return StartResult::ended;
    }
    if (Clock::now() >= exec_deadline && Clock::now() < deadline && !has_its_words()) {
      kill_hard();
      return StartResult::stuck;
    }
    if (Clock::now() >= deadline) {
      failure_ = "the server did not listen in time, stderr: " + standard_error();
      kill_hard();
      return StartResult::failed;
    }
    pause_between_looks();
  }
}

// An answer on the port is not enough, because another process may have taken it first. So this
// checks that the listening socket is among the process's descriptors. The kernel takes
// milliseconds to list the machine's sockets, so this is not asked before there can be one.
bool ServerProcess::is_listening() const {
  const std::set<std::string> sockets = sockets_of(pid_);
  if (sockets.empty()) return false;
  return unix_path_.empty() ? one_listens_on(port_, sockets) : one_listens_on(unix_path_, sockets);
}

// Until a child has become the server, it has the arguments of the test.
bool ServerProcess::has_its_words() const {
  return read_whole_file(("/proc/" + std::to_string(pid_) + "/cmdline").c_str()).ends_with(words_);
}

bool ServerProcess::running() {
  if (pid_ < 0) return false;
  int raw = 0;
  pid_t ended;
  do {
    ended = ::waitpid(pid_, &raw, WNOHANG);
  } while (ended < 0 && errno == EINTR);
  if (ended == 0) return true;
  last_exit_ = exit_status_of(raw);
  pid_ = -1;
  return false;
}

std::optional<ExitStatus> ServerProcess::wait_exit(std::chrono::milliseconds deadline) {
  const auto end = Clock::now() + deadline;
  while (running()) {
    if (Clock::now() >= end) return std::nullopt;
    pause_between_looks();
  }
  return last_exit_;
}

std::optional<ExitStatus> ServerProcess::stop(std::chrono::milliseconds deadline) {
  if (running()) {
    signal(SIGTERM);
    if (!wait_exit(deadline)) return kill_hard();
  }
  return last_exit_;
}

std::optional<ExitStatus> ServerProcess::kill_hard() {
  if (running()) {
    signal(SIGKILL);
    wait_exit(std::chrono::minutes(1));
  }
  return last_exit_;
}

bool ServerProcess::signal(int number) const {
  return pid_ > 0 && ::kill(pid_, number) == 0;
}

// The signal is pending until the server reads it from a descriptor, or its handler begins.
bool ServerProcess::has_pending(int signal) const {
  const std::string status = read_whole_file(("/proc/" + std::to_string(pid_) + "/status").c_str());
  constexpr std::string_view kKey = "\nShdPnd:";
  const std::size_t at = status.find(kKey);
  if (at == std::string::npos) return false;
  const auto set = std::strtoull(status.c_str() + at + kKey.size(), nullptr, 16);
  return (set >> (signal - 1) & 1) != 0;
}

bool ServerProcess::signal_and_wait(int number, std::chrono::milliseconds deadline) {
  return signal(number) && eventually([&] { return !has_pending(number); }, deadline);
}

std::string ServerProcess::standard_output() const {
  return captured_text(output_capture_);
}

std::string ServerProcess::standard_error() const {
  return captured_text(error_capture_);
}

void ServerProcess::close_captures() {
  for (int* fd : {&output_capture_, &error_capture_}) {
    if (*fd >= 0) ::close(*fd);
    *fd = -1;
  }
}

}  // namespace haricot::test
