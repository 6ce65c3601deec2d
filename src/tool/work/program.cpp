#include "tool/work/program.hpp"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "haricot/base/check.hpp"
#include "tool/cli/output.hpp"
#include "tool/cli/subcommand.hpp"

namespace haricot::tool {
namespace {

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> whole_environment(const std::vector<std::string>& more) {
  std::vector<std::string> all = more;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view setting = *entry;
    const std::string_view name = setting.substr(0, setting.find('=') + 1);
    const bool is_replaced = std::any_of(
        more.begin(), more.end(),
        [name](const std::string& other) { return !name.empty() && other.starts_with(name); });
    if (!is_replaced) all.emplace_back(setting);
  }
  return all;
}

// Returns a file in memory with these bytes, positioned at its beginning.
os::Descriptor input_of(std::string_view bytes, std::string& error) {
  os::Descriptor file(::memfd_create("haricot-job", MFD_CLOEXEC));
  if (!file) {
    error = std::string("cannot create its stdin: ") + std::strerror(errno);
    return file;
  }
  while (!bytes.empty()) {
    const ssize_t count = ::write(file.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      error = std::string("cannot write its stdin: ") + std::strerror(errno);
      file.reset();
      return file;
    }
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

struct Pipe {
  os::Descriptor reading;
  os::Descriptor writing;
};

bool open_pipe(Pipe& pipe, std::string& error) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    error = std::string("cannot create a pipe: ") + std::strerror(errno);
    return false;
  }
  pipe.reading = os::Descriptor(ends[0]);
  pipe.writing = os::Descriptor(ends[1]);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return true;
}

// Reports to the parent why the program cannot be executed.
[[noreturn]] void give_up(int to) {
  const int reason = errno;
  [[maybe_unused]] const ssize_t ignored = ::write(to, &reason, sizeof reason);
  ::_exit(kExitNotExecuted);
}

// Runs in the child. Any call is allowed after fork(), because the parent has one thread.
[[noreturn]] void become_program(pid_t parent, const std::array<int, 3>& descriptors, int failures,
                                 const sigset_t& mask, char* const* words, char* const* settings) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kExitNotExecuted);  // The parent died before prctl().
  ::signal(SIGPIPE, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  for (int i = 0; i < 3; ++i) {
    const int descriptor = descriptors[static_cast<std::size_t>(i)];
    if (descriptor >= 0 && ::dup2(descriptor, i) < 0) give_up(failures);
  }
  ::execvpe(words[0], words, settings);
  give_up(failures);
}

}  // namespace

Program::~Program() {
  if (!is_running()) return;
  send_signal(SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool Program::start(const ProgramStart& start, std::string& error) {
  CHECK(!is_running() && !start.words.empty());
  Pipe output;
  Pipe complaints;
  Pipe failures;
  const os::Descriptor input = input_of(start.input, error);
  if (!input || !open_pipe(failures, error)) return false;
  if (start.captures_output && (!open_pipe(output, error) || !open_pipe(complaints, error))) {
    return false;
  }
  const std::vector<std::string> settings = whole_environment(start.environment);
  const std::vector<char*> word_pointers = pointers_to(start.words);
  const std::vector<char*> setting_pointers = pointers_to(settings);
  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process == 0) {
    become_program(parent, {input.get(), output.writing.get(), complaints.writing.get()},
                   failures.writing.get(), start.signal_mask, word_pointers.data(),
                   setting_pointers.data());
  }
  if (process < 0) {
    error = std::string("cannot start a process: ") + std::strerror(errno);
    return false;
  }
  ::setpgid(process, process);  // Also here, so that a signal to the group cannot arrive before the
                                // group exists.
  process_ = process;
  output_ = std::move(output.reading);
  error_ = std::move(complaints.reading);
  start_error_ = std::move(failures.reading);
  return true;
}

std::optional<ProgramEnd> Program::take_end() {
  int status = 0;
  if (!is_running() || ::waitpid(process_, &status, WNOHANG) != process_) return std::nullopt;
  process_ = 0;
  ProgramEnd end;
  if (::read(start_error_.get(), &end.start_error, sizeof end.start_error) < 0) end.start_error = 0;
  start_error_.reset();
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end.status = end.signal != 0 ? 128 + end.signal : WEXITSTATUS(status);
  return end;
}

void Program::send_signal(int number) const {
  if (is_running()) ::kill(-process_, number);
}

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
  if (line_.find_first_not_of(" \t\r") != std::string::npos) last_line_.swap(line_);
  line_.clear();
}

void LinePrefix::finish(Outlet& to) {
  if (!line_.empty()) add_line(to);
}

}  // namespace haricot::tool
