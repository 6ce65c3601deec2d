// Runs a program and stops it in front of one of its system calls.
//
//   stop_at_call FILE NUMBER kill|hang PROGRAM [ARGUMENT]...
//
// The calls of a server count from the first one of its own, which handles a signal, to the one
// with which it begins to wait for clients. FILE gets the end: "stopped", "serves", or "ended" if
// the program ended before. A process that hangs stays until it is killed. The program keeps the
// number of the process; a child traces it.

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

struct Plan {
  const char* file;
  unsigned long number;
  bool hangs;
};

void report(const Plan& plan, std::string_view end) {
  const int file = ::open(plan.file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  [[maybe_unused]] const ssize_t written = ::write(file, end.data(), end.size());
  ::close(file);
}

bool is_wait_for_clients(std::uint64_t call) {
#ifdef SYS_epoll_wait
  if (call == SYS_epoll_wait) return true;
#endif
  return call == SYS_epoll_pwait;
}

// Returns the number of the call that the process is about to make; -1 if it is not about to.
std::int64_t next_call(pid_t process) {
  __ptrace_syscall_info info{};
  if (::ptrace(PTRACE_GET_SYSCALL_INFO, process, sizeof info, &info) <= 0) return -1;
  return info.op == PTRACE_SYSCALL_INFO_ENTRY ? static_cast<std::int64_t>(info.entry.nr) : -1;
}

// Returns the signal to pass on with the next step.
int signal_of(int status) {
  const int signal = WSTOPSIG(status);
  const bool is_event = status >> 16 != 0 || signal == (SIGTRAP | 0x80);
  return is_event ? 0 : signal;
}

void trace(pid_t process, const Plan& plan) {
  bool is_program = false;
  bool counts = false;
  unsigned long number = 0;
  int status = 0;
  while (::waitpid(process, &status, __WALL) == process) {
    if (!WIFSTOPPED(status)) return report(plan, "ended");
    if (status >> 16 == PTRACE_EVENT_EXEC) is_program = true;
    const std::int64_t call = is_program ? next_call(process) : -1;
    counts = counts || call == SYS_rt_sigaction;
    if (counts && call >= 0) {
      if (is_wait_for_clients(static_cast<std::uint64_t>(call))) {
        report(plan, "serves");
        ::ptrace(PTRACE_DETACH, process, nullptr, nullptr);
        return;
      }
      if (++number == plan.number) {
        if (!plan.hangs) ::kill(process, SIGKILL);
        report(plan, "stopped");
        while (::waitpid(process, &status, __WALL) == process && WIFSTOPPED(status)) continue;
        return;
      }
    }
    ::ptrace(PTRACE_SYSCALL, process, nullptr, signal_of(status));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return EXIT_FAILURE;
  const Plan plan{argv[1], std::strtoul(argv[2], nullptr, 10), std::string_view(argv[3]) == "hang"};
  int traced[2];
  if (::pipe2(traced, O_CLOEXEC) != 0) return EXIT_FAILURE;
  const pid_t process = ::getpid();
  const pid_t tracer = ::fork();
  if (tracer == 0) {
    const auto options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC;
    ::close_range(3, static_cast<unsigned>(traced[1]) - 1, 0);  // Nothing of a state.
    if (::ptrace(PTRACE_SEIZE, process, nullptr, options) != 0) {
      report(plan, "cannot trace");
      return EXIT_FAILURE;
    }
    ::ptrace(PTRACE_INTERRUPT, process, nullptr, nullptr);
    ::close(traced[1]);
    trace(process, plan);
    return EXIT_SUCCESS;
  }
  ::prctl(PR_SET_PTRACER, tracer, 0, 0, 0);
  ::close(traced[1]);
  char byte = 0;
  [[maybe_unused]] const ssize_t end = ::read(traced[0], &byte, 1);
  ::execv(argv[4], argv + 4);
  return EXIT_FAILURE;
}
