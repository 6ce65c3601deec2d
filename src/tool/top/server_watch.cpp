#include "tool/top/server_watch.hpp"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <utility>

#include "os/clock.hpp"

namespace haricot::tool {
namespace {

void notify(const os::Descriptor& event) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t ignored = ::write(event.get(), &one, sizeof one);
}

}  // namespace

ServerWatch::ServerWatch(Address address, std::vector<std::string> patterns, Duration patience)
    : address_(std::move(address)), patterns_(std::move(patterns)), patience_(patience) {}

ServerWatch::~ServerWatch() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_one();
  notify(stopping_);
  thread_.join();
}

bool ServerWatch::start(std::string& error) {
  ready_ = os::Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  stopping_ = os::Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  // Blocks signals: the owner handles them, together with the terminal.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  bool is_good = ready_ && stopping_;
  try {
    if (is_good) thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    is_good = false;
    errno = EAGAIN;
  }
  const int reason = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!is_good) error = std::string("cannot watch a server: ") + std::strerror(reason);
  return is_good;
}

void ServerWatch::ask() {
  is_asking_ = true;
  {
    const std::lock_guard lock(mutex_);
    is_wanted_ = true;
  }
  changed_.notify_one();
}

std::optional<Finding> ServerWatch::take() {
  std::uint64_t ignored = 0;
  [[maybe_unused]] const ssize_t count = ::read(ready_.get(), &ignored, sizeof ignored);
  const std::lock_guard lock(mutex_);
  if (finding_) is_asking_ = false;
  return std::exchange(finding_, std::nullopt);
}

void ServerWatch::run() {
  Remote server(address_, patience_);
  server.also_watch({stopping_.get()}, [] { return false; });
  while (true) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return is_wanted_ || is_over_; });
      if (is_over_) return;
      is_wanted_ = false;
    }
    Finding finding = find_out(server);
    {
      const std::lock_guard lock(mutex_);
      finding_ = std::move(finding);
    }
    notify(ready_);
  }
}

Finding ServerWatch::find_out(Remote& server) {
  const Instant begin = os::read_clock();
  Finding finding;
  Sample sample;
  if (!server.is_open()) {
    server.set_patience(std::min(patience_, kConnectPatience));
    if (server.open()) server.set_patience(patience_);
  }
  if (server.is_open() && take_sample(server, patterns_, sample)) {
    finding.sample = std::move(sample);
  } else {
    finding.failure = server.failure();
    server.close();
  }
  finding.cost = os::read_clock() - begin;
  return finding;
}

}  // namespace haricot::tool
