#include "failing_calls.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdlib>
#include <ctime>

namespace {

using haricot::faults::FailingCalls;
using haricot::faults::SocketCall;

FailingCalls* calls = nullptr;

// Runs before main, and so before the daemon forbids itself anything.
__attribute__((constructor)) void map_file() {
  const char* path = std::getenv(haricot::faults::kFailingCallsFile);
  if (path == nullptr) return;
  const int file = ::open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void* memory = ::mmap(nullptr, sizeof(FailingCalls), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (memory != MAP_FAILED) calls = static_cast<FailingCalls*>(memory);
}

enum class Fate { real, error, one_byte };

bool is_of_hand_over(SocketCall call) {
  return call >= SocketCall::memfd_create || call == SocketCall::sendmsg ||
         call == SocketCall::epoll_add;
}

// Counts the call, and decides its result.
Fate fate_of(SocketCall call) {
  if (calls == nullptr) return Fate::real;
  const auto planned = static_cast<SocketCall>(__atomic_load_n(&calls->call, __ATOMIC_ACQUIRE));
  const bool is_planned =
      planned == call || (planned == SocketCall::of_hand_over && is_of_hand_over(call));
  if (!is_planned) return Fate::real;
  const std::uint64_t number = __atomic_add_fetch(&calls->seen, 1, __ATOMIC_ACQ_REL);
  if (number < __atomic_load_n(&calls->first, __ATOMIC_ACQUIRE)) return Fate::real;
  if (number > __atomic_load_n(&calls->last, __ATOMIC_ACQUIRE)) return Fate::real;
  __atomic_add_fetch(&calls->failed, 1, __ATOMIC_ACQ_REL);
  const std::uint32_t error = __atomic_load_n(&calls->error, __ATOMIC_ACQUIRE);
  if (error == 0) return Fate::one_byte;
  // As sudden as SIGKILL, which the sandbox does not allow.
  if (error == haricot::faults::kKills) __builtin_trap();
  errno = static_cast<int>(error);
  return Fate::error;
}

template <typename Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED ssize_t recv(int descriptor, void* buffer, std::size_t bytes, int flags) {
  static const auto next = real<decltype(&::recv)>("recv");
  const Fate fate = fate_of(SocketCall::recv);
  if (fate == Fate::error) return -1;
  return next(descriptor, buffer, fate == Fate::one_byte ? 1 : bytes, flags);
}

EXPORTED ssize_t readv(int descriptor, const iovec* pieces, int count) {
  static const auto next = real<decltype(&::readv)>("readv");
  const Fate fate = fate_of(SocketCall::readv);
  if (fate == Fate::error) return -1;
  if (fate == Fate::real) return next(descriptor, pieces, count);
  const iovec one{pieces[0].iov_base, std::min<std::size_t>(1, pieces[0].iov_len)};
  return next(descriptor, &one, 1);
}

EXPORTED ssize_t send(int descriptor, const void* buffer, std::size_t bytes, int flags) {
  static const auto next = real<decltype(&::send)>("send");
  const Fate fate = fate_of(SocketCall::send);
  if (fate == Fate::error) return -1;
  return next(descriptor, buffer, fate == Fate::one_byte ? 1 : bytes, flags);
}

EXPORTED ssize_t sendmsg(int descriptor, const msghdr* message, int flags) {
  static const auto next = real<decltype(&::sendmsg)>("sendmsg");
  const Fate fate = fate_of(SocketCall::sendmsg);
  if (fate == Fate::error) return -1;
  if (fate == Fate::real) return next(descriptor, message, flags);
  iovec one{message->msg_iov[0].iov_base, 1};
  msghdr shorter = *message;
  shorter.msg_iov = &one;
  shorter.msg_iovlen = 1;
  return next(descriptor, &shorter, flags);
}

EXPORTED int accept4(int descriptor, sockaddr* address, socklen_t* length, int flags) {
  static const auto next = real<decltype(&::accept4)>("accept4");
  if (fate_of(SocketCall::accept4) == Fate::error) return -1;
  return next(descriptor, address, length, flags);
}

EXPORTED int epoll_ctl(int epoll, int operation, int descriptor, epoll_event* event) noexcept {
  static const auto next = real<int (*)(int, int, int, epoll_event*)>("epoll_ctl");
  if (operation == EPOLL_CTL_ADD && fate_of(SocketCall::epoll_add) == Fate::error) return -1;
  return next(epoll, operation, descriptor, event);
}

EXPORTED int epoll_wait(int epoll, epoll_event* events, int count, int timeout) {
  static const auto next = real<decltype(&::epoll_wait)>("epoll_wait");
  if (fate_of(SocketCall::epoll_wait) == Fate::error) return -1;
  return next(epoll, events, count, timeout);
}

EXPORTED ssize_t read(int descriptor, void* buffer, std::size_t bytes) {
  static const auto next = real<decltype(&::read)>("read");
  if (fate_of(SocketCall::read) == Fate::error) return -1;
  return next(descriptor, buffer, bytes);
}

// Calls of a restart ------------------------------------------------------------------------------

using Fstat = int (*)(int, struct stat*);
static Fstat real_fstat() {
  static const auto next = real<Fstat>("fstat");
  return next;
}

EXPORTED int memfd_create(const char* name, unsigned flags) noexcept {
  static const auto next = real<int (*)(const char*, unsigned)>("memfd_create");
  if (fate_of(SocketCall::memfd_create) == Fate::error) return -1;
  return next(name, flags);
}

EXPORTED ssize_t write(int descriptor, const void* bytes, std::size_t count) {
  static const auto next = real<decltype(&::write)>("write");
  // Writes that wake a thread, or go to the log, do not count.
  struct stat status {};
  const bool is_file = real_fstat()(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  if (!is_file || descriptor == STDERR_FILENO) return next(descriptor, bytes, count);
  const Fate fate = fate_of(SocketCall::write);
  if (fate == Fate::error) return -1;
  return next(descriptor, bytes, fate == Fate::one_byte ? 1 : count);
}

EXPORTED int socketpair(int domain, int type, int protocol, int* ends) noexcept {
  static const auto next = real<int (*)(int, int, int, int*)>("socketpair");
  if (fate_of(SocketCall::socketpair) == Fate::error) return -1;
  return next(domain, type, protocol, ends);
}

EXPORTED int fcntl(int descriptor, int command, ...) {
  static const auto next = real<int (*)(int, int, long)>("fcntl");
  va_list more;
  va_start(more, command);
  const long argument = va_arg(more, long);
  va_end(more);
  if (fate_of(SocketCall::fcntl) == Fate::error) return -1;
  return next(descriptor, command, argument);
}

EXPORTED int pipe2(int* ends, int flags) noexcept {
  static const auto next = real<int (*)(int*, int)>("pipe2");
  if (fate_of(SocketCall::pipe2) == Fate::error) return -1;
  return next(ends, flags);
}

EXPORTED int poll(pollfd* polls, nfds_t count, int timeout) {
  static const auto next = real<int (*)(pollfd*, nfds_t, int)>("poll");
  if (fate_of(SocketCall::poll) == Fate::error) return -1;
  return next(polls, count, timeout);
}

EXPORTED ssize_t recvmsg(int descriptor, msghdr* message, int flags) {
  static const auto next = real<decltype(&::recvmsg)>("recvmsg");
  if (fate_of(SocketCall::recvmsg) == Fate::error) return -1;
  return next(descriptor, message, flags);
}

EXPORTED int setsockopt(int descriptor, int level, int name, const void* value,
                        socklen_t bytes) noexcept {
  static const auto next = real<int (*)(int, int, int, const void*, socklen_t)>("setsockopt");
  if (fate_of(SocketCall::setsockopt) == Fate::error) return -1;
  return next(descriptor, level, name, value, bytes);
}

EXPORTED int getsockname(int descriptor, sockaddr* address, socklen_t* bytes) noexcept {
  static const auto next = real<int (*)(int, sockaddr*, socklen_t*)>("getsockname");
  if (fate_of(SocketCall::getsockname) == Fate::error) return -1;
  return next(descriptor, address, bytes);
}

EXPORTED int fstat(int descriptor, struct stat* status) noexcept {
  if (fate_of(SocketCall::fstat) == Fate::error) return -1;
  return real_fstat()(descriptor, status);
}

EXPORTED void* mmap(void* where, std::size_t bytes, int access, int flags, int file,
                    off_t offset) noexcept {
  using Map = void* (*)(void*, std::size_t, int, int, int, off_t);
  static const auto next = real<Map>("mmap");
  if (fate_of(SocketCall::mmap) == Fate::error) return MAP_FAILED;
  return next(where, bytes, access, flags, file, offset);
}

#ifndef HARICOT_SANITIZED  // A sanitizer has its own.
extern "C" void* __libc_malloc(std::size_t bytes);

EXPORTED void* malloc(std::size_t bytes) noexcept {
  if (fate_of(SocketCall::malloc) == Fate::error) return nullptr;
  return __libc_malloc(bytes);
}
#endif

// The wall clock
// ------------------------------------------------------------------------------------

EXPORTED int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static const auto next = real<int (*)(clockid_t, timespec*)>("clock_gettime");
  static const char* const seconds = std::getenv(haricot::faults::kWallClockSeconds);
  const int result = next(clock, time);
  if (result == 0 && clock == CLOCK_REALTIME && seconds != nullptr) {
    static const time_t ahead = static_cast<time_t>(std::atoll(seconds)) - time->tv_sec;
    time->tv_sec += ahead;
  }
  return result;
}
