#include "os/process.hpp"

#include <fcntl.h>
#include <grp.h>
#include <malloc.h>
#include <pwd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "haricot/base/check.hpp"
#include "haricot/base/encoding.hpp"

namespace haricot::os {

void open_standard_descriptors() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(number, F_GETFD) >= 0) continue;
    // open() returns the lowest free number, which is this one.
    const int mode = number == STDOUT_FILENO ? O_RDONLY : O_RDWR;
    [[maybe_unused]] const int opened = ::open("/dev/null", mode);
  }
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

std::uint64_t descriptor_limit() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

void survive_file_size_limit() {
  ::signal(SIGXFSZ, SIG_IGN);
}

void ignore_broken_pipes() {
  ::signal(SIGPIPE, SIG_IGN);
}

void ignore_children() {
  ::signal(SIGCHLD, SIG_IGN);
}

// By default, when the first large piece is freed, malloc keeps all pieces up to that size from
// then on: tens of megabytes after one large job. This threshold is above the largest buffers of a
// connection, which come and go, and below the chunks of jobs, which must return to the system.
void give_large_memory_back() {
#ifdef __GLIBC__
  constexpr int kMappedBytesMin = 192 * 1024;
  ::mallopt(M_MMAP_THRESHOLD, kMappedBytesMin);
#endif
}

namespace {

bool is_entirely(uid_t user, gid_t group) {
  uid_t users[3];
  gid_t groups[3];
  return user != 0 && ::getresuid(&users[0], &users[1], &users[2]) == 0 &&
         ::getresgid(&groups[0], &groups[1], &groups[2]) == 0 && users[0] == user &&
         users[1] == user && users[2] == user && groups[0] == group && groups[1] == group &&
         groups[2] == group;
}

bool change_to(const std::string& name, uid_t user, gid_t group, std::string& error) {
  // A process that may not change groups may still be allowed to change to a saved user.
  const bool is_root = ::geteuid() == 0;
  if (is_root && ::initgroups(name.c_str(), group) != 0) {
    error = "cannot take the groups of " + name + ": " + std::strerror(errno);
    return false;
  }
  if (::setresgid(group, group, group) != 0 || ::setresuid(user, user, user) != 0) {
    error = "cannot become " + name + ": " + std::strerror(errno);
    return false;
  }
  return true;
}

}  // namespace

bool become_user(const std::string& name, std::string& error, bool& no_such_user) {
  errno = 0;
  const passwd* entry = ::getpwnam(name.c_str());
  no_such_user = entry == nullptr;
  if (entry == nullptr) {
    error = "there is no user " + name;
    return false;
  }
  const uid_t user = entry->pw_uid;
  const gid_t group = entry->pw_gid;
  // A process that already runs as that user makes no call, because a sandbox may forbid it.
  if (!is_entirely(user, group) && !change_to(name, user, group, error)) return false;
  // Going back must be impossible.
  if (user != 0 && (::setuid(0) == 0 || ::geteuid() != user || ::getegid() != group)) {
    error = "became " + name + ", but can still return to root";
    return false;
  }
  return true;
}

sigset_t handled_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGHUP}) ::sigaddset(&signals, signal);
  return signals;
}

void block_signals() {
  const sigset_t signals = handled_signals();
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
}

bool is_asked_to_end() {
  sigset_t pending;
  return ::sigpending(&pending) == 0 &&
         (::sigismember(&pending, SIGTERM) == 1 || ::sigismember(&pending, SIGINT) == 1);
}

std::uint64_t random_bits() {
  std::uint64_t bits = 0;
  if (::getrandom(&bits, sizeof bits, 0) != sizeof bits) {
    // Without random numbers, the time and the process id are used: the bits only have to differ.
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    bits = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec) + (static_cast<std::uint64_t>(::getpid()) << 48);
  }
  return bits;
}

HashKey make_hash_key() {
  return {random_bits(), random_bits()};
}

namespace {

CpuUsage read_cpu_usage() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto microseconds = [](const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 +
           static_cast<std::uint64_t>(time.tv_usec);
  };
  return CpuUsage{microseconds(usage.ru_utime), microseconds(usage.ru_stime)};
}

// Returns 16 hexadecimal digits that begin with a letter. Readers of YAML take others for a number:
// decimal (16 digits), octal (00...), binary (0b...) or with an exponent (1e10).
std::string make_instance_id() {
  constexpr std::uint64_t kFirstLetter = 0xa;
  constexpr std::uint64_t kLetters = 6;
  constexpr int kFirstShift = 60;
  std::uint64_t bits = random_bits();
  const std::uint64_t first = kFirstLetter + (bits >> kFirstShift) % kLetters;
  bits = bits << 4 >> 4 | first << kFirstShift;
  std::string text;
  for (int shift = 56; shift >= 0; shift -= 8) {
    append_hex(text, static_cast<unsigned char>(bits >> shift & 0xff));
  }
  CHECK(text.size() == 16);
  return text;
}

// Removes characters from a machine's name that reports cannot have: they are ASCII, a value in a
// line.
std::string plain(const char* text) {
  std::string result;
  for (; *text != '\0'; ++text) {
    const bool allowed = *text >= ' ' && *text <= '~' && *text != '"' && *text != '\\';
    if (allowed) result += *text;
  }
  return result;
}

}  // namespace

void describe_process(ServerInfo& info) {
  utsname names{};
  ::uname(&names);
  info.pid = ::getpid();
  info.instance_id = make_instance_id();
  info.hostname = plain(names.nodename);
  info.os = plain(names.version);
  info.platform = plain(names.machine);
  info.cpu_usage = &read_cpu_usage;
}

}  // namespace haricot::os
