#include "os/sandbox.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>

#include "haricot/base/check.hpp"
#include "os/descriptor.hpp"

namespace haricot::os {

// Files -------------------------------------------------------------------------------------------

namespace {

// Additions of later kernels, by the version of the interface. The system's header may be older
// than the kernel.
struct Rules {
  std::uint64_t files;
  std::uint64_t network;  // From version 4 on.
  std::uint64_t scope;    // From version 6 on.
};
// The kernel reads as many bytes of it as rules_bytes() returns.
static_assert(offsetof(Rules, network) == 8 && offsetof(Rules, scope) == 16 && sizeof(Rules) == 24);

constexpr std::uint64_t bit(unsigned number) {
  return std::uint64_t{1} << number;
}

constexpr std::uint64_t kFilesOfVersion1 = bit(13) - 1;
constexpr std::uint64_t kRefer = bit(13);          // 2
constexpr std::uint64_t kTruncate = bit(14);       // 3
constexpr std::uint64_t kIoctlOfDevice = bit(15);  // 5
constexpr std::uint64_t kBind = bit(0);
constexpr std::uint64_t kBindAndConnect = kBind | bit(1);
constexpr std::uint64_t kSignals = bit(1);

constexpr std::uint64_t kOwnFiles = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |
                                    LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                                    LANDLOCK_ACCESS_FS_REMOVE_FILE | kTruncate;

// Forbids all that the kernel can forbid, except actions that a rule allows.
Rules all_rules(long version) {
  Rules rules{kFilesOfVersion1, 0, 0};
  if (version >= 2) rules.files |= kRefer;
  if (version >= 3) rules.files |= kTruncate;
  if (version >= 4) rules.network = kBindAndConnect;
  if (version >= 5) rules.files |= kIoctlOfDevice;
  if (version >= 6) rules.scope = kSignals;
  return rules;
}

std::size_t rules_bytes(long version) {
  if (version >= 6) return sizeof(Rules);
  return version >= 4 ? offsetof(Rules, scope) : offsetof(Rules, network);
}

bool allow(int ruleset, int folder, std::uint64_t access) {
  landlock_path_beneath_attr rule{};
  rule.allowed_access = access;
  rule.parent_fd = folder;
  return ::syscall(__NR_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
}

// Omits a folder that cannot be opened.
bool allow_below(int ruleset, const std::string& path, std::uint64_t access) {
  const Descriptor folder(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  return !folder || allow(ruleset, folder.get(), access);
}

}  // namespace

bool enter_path_sandbox(const PathSandboxOptions& options, std::string& error) {
  const long version =
      ::syscall(__NR_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) {
    error = std::strerror(errno);
    return false;
  }
  Rules rules = all_rules(version);
  if (options.connects) rules.network &= kBind;
  const Descriptor ruleset(
      static_cast<int>(::syscall(__NR_landlock_create_ruleset, &rules, rules_bytes(version), 0)));
  bool good = static_cast<bool>(ruleset);
  if (good && options.folder >= 0) {
    good = allow(ruleset.get(), options.folder, kOwnFiles & rules.files);
  }
  for (const std::string& path : options.removal_folders) {
    good = good && allow_below(ruleset.get(), path, LANDLOCK_ACCESS_FS_REMOVE_FILE);
  }
  for (const std::string& path : options.reading_folders) {
    good = good && allow_below(ruleset.get(), path, LANDLOCK_ACCESS_FS_READ_FILE);
  }
  good = good && ::syscall(__NR_landlock_restrict_self, ruleset.get(), 0) == 0;
  if (!good) error = std::strerror(errno);
  return good;
}

// System calls ------------------------------------------------------------------------------------

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

// Both --------------------------------------------------------------------------------------------

namespace {

// Sanitizers make system calls of their own, read /proc and write reports.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif
#else
constexpr bool kIsSanitized = false;
#endif

bool is_in_environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

}  // namespace

bool wants_sandbox(const Options& options) {
  switch (options.confinement) {
    case Options::Confinement::always:
      return true;
    case Options::Confinement::never:
      return false;
    case Options::Confinement::automatic:
      break;
  }
  // systemd gives every service an INVOCATION_ID.
  return (::geteuid() == 0 && !options.user.empty()) || is_in_environment("NOTIFY_SOCKET") ||
         is_in_environment("INVOCATION_ID");
}

std::string Sandbox::enter() const {
  if (kIsSanitized) return "this build contains a sanitizer";
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return std::string("new privileges cannot be dropped: ") + std::strerror(errno);
  }
  // In this order, because the call filter rejects the calls that Landlock needs.
  std::string missing;
  std::string error;
  if (!enter_path_sandbox(paths, error)) missing = "files (Landlock: " + error + ")";
  if (!enter_call_filter(
          {.program = program, .self = ::getpid(), .notifies = notifies, .hands_over = hands_over},
          error)) {
    if (!missing.empty()) missing += " and ";
    missing += "system calls (seccomp: " + error + ")";
  }
  return missing.empty() ? missing : "the kernel does not limit " + missing;
}

}  // namespace haricot::os
