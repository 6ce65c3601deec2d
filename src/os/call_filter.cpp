#include "os/call_filter.hpp"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "haricot/base/check.hpp"

namespace haricot::os {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kMachine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kMachine = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kMachine = 0;  // Calls on this machine are unknown.
#endif

// Calls that are allowed with any arguments. Those of each command come first: kernels before 5.11
// search the list for every call; later ones precompute the result. Some calls exist only on one
// machine or in one C library. Each is made by the server, or by the library on its behalf (malloc,
// threads, abort, clocks without a vdso).
constexpr std::uint32_t kCalls[] = {
    __NR_recvfrom, __NR_sendto,
#ifdef __NR_epoll_wait
    __NR_epoll_wait,
#endif
    __NR_epoll_pwait, __NR_clock_gettime, __NR_readv, __NR_sendmsg, __NR_epoll_ctl, __NR_accept4,
    __NR_close, __NR_pwritev, __NR_futex, __NR_fdatasync, __NR_read, __NR_write,
#ifdef __NR_poll
    __NR_poll,
#endif
    __NR_ppoll,
    // Memory.
    __NR_brk, __NR_munmap, __NR_mremap, __NR_madvise,
    // Files; Landlock decides which ones.
    __NR_openat, __NR_fstat,
#ifdef __NR_newfstatat
    __NR_newfstatat,
#endif
#ifdef __NR_open
    __NR_open, __NR_stat, __NR_lstat, __NR_unlink, __NR_rename,
#endif
#ifdef __NR_renameat
    __NR_renameat,
#endif
    __NR_statx, __NR_statfs, __NR_fstatfs, __NR_getdents64, __NR_lseek, __NR_fcntl, __NR_pread64,
    __NR_pwrite64, __NR_preadv, __NR_writev, __NR_fsync, __NR_fallocate, __NR_ftruncate,
    __NR_fadvise64, __NR_renameat2, __NR_linkat, __NR_unlinkat,
    // Descriptors.
    __NR_epoll_create1, __NR_eventfd2, __NR_signalfd4, __NR_dup, __NR_dup3, __NR_getsockname,
    __NR_getpeername, __NR_getsockopt, __NR_shutdown,
#ifdef __NR_dup2
    __NR_dup2,
#endif
    // Threads and signals.
    __NR_set_robust_list,
#ifdef __NR_rseq
    __NR_rseq,
#endif
    __NR_sched_yield, __NR_sched_getaffinity, __NR_rt_sigaction, __NR_rt_sigprocmask,
    __NR_rt_sigpending, __NR_rt_sigreturn, __NR_sigaltstack, __NR_restart_syscall, __NR_exit,
    __NR_exit_group,
    // Information and time.
    __NR_getpid, __NR_gettid, __NR_getppid, __NR_getuid, __NR_geteuid, __NR_getgid, __NR_getegid,
    __NR_getrusage, __NR_getrandom, __NR_uname, __NR_sysinfo, __NR_gettimeofday, __NR_clock_getres,
#ifdef __NR_time
    __NR_time,
#endif
    __NR_nanosleep, __NR_clock_nanosleep};

// Calls of `haricot web`. It opens one file, that of its token.
constexpr std::uint32_t kWebCalls[] = {
    __NR_recvfrom, __NR_sendto,
#ifdef __NR_epoll_wait
    __NR_epoll_wait,
#endif
    __NR_epoll_pwait, __NR_clock_gettime, __NR_epoll_ctl, __NR_accept4, __NR_close, __NR_read,
    __NR_write, __NR_sendmsg, __NR_readv, __NR_writev,
#ifdef __NR_poll
    __NR_poll,
#endif
    __NR_ppoll,
    // Connections.
    __NR_connect, __NR_setsockopt, __NR_getsockopt, __NR_getsockname, __NR_getpeername,
    __NR_shutdown, __NR_fcntl,
    // Memory.
    __NR_brk, __NR_munmap, __NR_mremap, __NR_madvise, __NR_futex,
    // Files; Landlock decides which ones.
    __NR_openat, __NR_fstat,
#ifdef __NR_newfstatat
    __NR_newfstatat,
#endif
#ifdef __NR_open
    __NR_open, __NR_lstat, __NR_unlink,
#endif
    __NR_unlinkat, __NR_lseek,
    // Signals and exit.
    __NR_rt_sigaction, __NR_rt_sigprocmask, __NR_rt_sigreturn, __NR_sigaltstack,
    __NR_restart_syscall, __NR_exit, __NR_exit_group,
    // Information and time.
    __NR_getpid, __NR_gettid, __NR_getrandom, __NR_sysinfo, __NR_gettimeofday, __NR_clock_getres,
#ifdef __NR_time
    __NR_time,
#endif
    __NR_sched_getaffinity, __NR_sched_yield, __NR_clock_nanosleep};

// Allows a call if (argument & mask) == value. Only the lower 32 bits of an argument are compared,
// so conditions on longer arguments are impossible.
struct Condition {
  std::uint32_t call;
  unsigned argument;
  std::uint32_t mask;
  std::uint32_t value;
};

constexpr std::uint32_t kThread = CLONE_VM | CLONE_THREAD;
constexpr std::uint32_t kAllBits = 0xffffffff;

static_assert(std::endian::native == std::endian::little, "the lower half stands first");

class Program {
 public:
  Program() {
    load(offsetof(seccomp_data, arch));
    jump_if_equal(kMachine, 1, 0);
    answer(SECCOMP_RET_ERRNO | EPERM);
    load(offsetof(seccomp_data, nr));
  }

  void allow(std::uint32_t call) { answer_to(call, SECCOMP_RET_ALLOW); }
  // Allows the call if the argument is one of the values, otherwise rejects it: no later rule
  // applies.
  void allow(std::uint32_t call, unsigned argument, std::span<const std::uint32_t> values) {
    const auto count = static_cast<unsigned>(values.size());
    jump_if_equal(call, 0, count + 3);
    load(offsetof(seccomp_data, args) + argument * sizeof(seccomp_data::args[0]));
    for (unsigned i = 0; i < count; ++i) jump_if_equal(values[i], count - i, 0);
    answer(SECCOMP_RET_ERRNO | EPERM);
    answer(SECCOMP_RET_ALLOW);
  }
  void answer_to(std::uint32_t call, std::uint32_t verdict) {
    jump_if_equal(call, 0, 1);
    answer(verdict);
  }
  // Allows or rejects the call: no later rule applies, because the call's number is overwritten.
  void allow(const Condition& condition) {
    constexpr unsigned kInstructions = 5;
    jump_if_equal(condition.call, 0, kInstructions);
    const std::size_t before = instructions_.size();
    load(offsetof(seccomp_data, args) + condition.argument * sizeof(seccomp_data::args[0]));
    add(BPF_ALU | BPF_AND | BPF_K, condition.mask, 0, 0);
    jump_if_equal(condition.value, 0, 1);
    answer(SECCOMP_RET_ALLOW);
    answer(SECCOMP_RET_ERRNO | EPERM);
    CHECK(instructions_.size() == before + kInstructions);
  }
  std::vector<sock_filter> take() {
    answer(SECCOMP_RET_ERRNO | EPERM);
    CHECK(instructions_.size() <= BPF_MAXINSNS);
    return std::move(instructions_);
  }

 private:
  void add(unsigned code, std::uint32_t value, unsigned if_true, unsigned if_false) {
    CHECK(if_true < 256 && if_false < 256);
    instructions_.push_back(sock_filter{static_cast<std::uint16_t>(code),
                                        static_cast<std::uint8_t>(if_true),
                                        static_cast<std::uint8_t>(if_false), value});
  }
  void load(std::size_t offset) {
    add(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset), 0, 0);
  }
  void jump_if_equal(std::uint32_t value, unsigned if_true, unsigned if_false) {
    add(BPF_JMP | BPF_JEQ | BPF_K, value, if_true, if_false);
  }
  void answer(std::uint32_t verdict) { add(BPF_RET | BPF_K, verdict, 0, 0); }

  std::vector<sock_filter> instructions_;
};

}  // namespace

std::vector<sock_filter> make_call_filter(const CallFilterOptions& options) {
  if (kMachine == 0) return {};
  const Condition conditions[] = {
      // Nothing is ever made executable.
      {__NR_mmap, 2, PROT_EXEC, 0},
      {__NR_mprotect, 2, PROT_EXEC, 0},
      {__NR_tgkill, 0, kAllBits, static_cast<std::uint32_t>(options.self)},
      // Limits may be read, but not set: the argument with new limits is null.
      {__NR_prlimit64, 2, kAllBits, 0},
  };
  const bool is_web = options.program == FilteredProgram::web;
  Program program;
  for (const std::uint32_t call : is_web ? std::span<const std::uint32_t>(kWebCalls) : kCalls) {
    program.allow(call);
  }
  for (const Condition& condition : conditions) program.allow(condition);
  if (is_web) {
    constexpr std::uint32_t kFamilies[] = {AF_UNIX, AF_INET, AF_INET6};
    program.allow(__NR_socket, 0, kFamilies);
    return program.take();
  }
  // Threads, but no processes.
  program.allow(Condition{__NR_clone, 0, kThread, kThread});
  // The flags of clone3 are in memory, which a filter cannot read. If the call does not seem to
  // exist, the C library uses clone.
  program.answer_to(__NR_clone3, SECCOMP_RET_ERRNO | ENOSYS);
  if (options.notifies) {
    program.allow(Condition{__NR_socket, 0, kAllBits, AF_UNIX});
    program.allow(__NR_connect);
    program.allow(__NR_pipe2);
  }
  if (options.hands_over) {
    program.allow(Condition{__NR_socketpair, 0, kAllBits, AF_UNIX});
    program.allow(__NR_memfd_create);
  }
  return program.take();
}

bool enter_call_filter(const CallFilterOptions& options, std::string& error) {
  std::vector<sock_filter> instructions = make_call_filter(options);
  if (instructions.empty()) {
    error = "there is no list of system calls for this machine";
    return false;
  }
  const sock_fprog program{.len = static_cast<unsigned short>(instructions.size()),
                           .filter = instructions.data()};
  // Without SPEC_ALLOW, kernels before 5.16 slow down the whole process to protect it against side
  // channels, which matter only to programs that run foreign code. Old kernels know neither flag.
  constexpr unsigned long kAllThreads = SECCOMP_FILTER_FLAG_TSYNC;
  constexpr unsigned long kWanted =
      kAllThreads | SECCOMP_FILTER_FLAG_LOG | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
  long result = -1;
  for (const unsigned long flags : {kWanted, kAllThreads}) {
    result = ::syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    if (result == 0) return true;
    if (result > 0 || errno != EINVAL) break;
  }
  error = result > 0 ? "a thread cannot be filtered" : std::strerror(errno);
  return false;
}

}  // namespace haricot::os
