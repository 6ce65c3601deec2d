#include "failing_calls.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace {

using haricot::faults::FailingCalls;
using haricot::faults::SocketCall;

FailingCalls* calls = nullptr;

// Before main, and so before anything that the daemon may forbid itself.
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

// Counts the call, and says what becomes of it.
Fate fate_of(SocketCall call) {
  if (calls == nullptr) return Fate::real;
  if (__atomic_load_n(&calls->call, __ATOMIC_ACQUIRE) != static_cast<std::uint32_t>(call)) {
    return Fate::real;
  }
  const std::uint64_t number = __atomic_add_fetch(&calls->seen, 1, __ATOMIC_ACQ_REL);
  if (number < __atomic_load_n(&calls->first, __ATOMIC_ACQUIRE)) return Fate::real;
  if (number > __atomic_load_n(&calls->last, __ATOMIC_ACQUIRE)) return Fate::real;
  __atomic_add_fetch(&calls->failed, 1, __ATOMIC_ACQ_REL);
  const std::uint32_t error = __atomic_load_n(&calls->error, __ATOMIC_ACQUIRE);
  if (error == 0) return Fate::one_byte;
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
