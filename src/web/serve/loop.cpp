#include "web/serve/loop.hpp"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "os/clock.hpp"
#include "os/process.hpp"

namespace haricot::web {
namespace {

// Pause before stderr is tried again with pending lines of the log.
constexpr Duration kLogPause = Duration::milliseconds(200);

}  // namespace

Loop::Loop(os::Poller& poller, os::Log& log, os::Notifier& notifier)
    : poller_(poller),
      log_(log),
      notifier_(notifier),
      signal_handler_(os::EventHandler::to<&Loop::read_signals>(*this)),
      signal_source_(signal_handler_, -1) {}

bool Loop::open(std::string& error) {
  const sigset_t wanted = os::handled_signals();
  signals_ = os::Descriptor(::signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC));
  signal_source_.descriptor = signals_.get();
  if (signals_ && poller_.add(signal_source_, EPOLLIN)) return true;
  error = std::string("cannot watch signals: ") + std::strerror(errno);
  return false;
}

void Loop::run() {
  Instant now = os::read_clock();
  while (!has_to_end_) {
    Instant until = notifier_.next_keep_alive();
    for (const LoopPart& part : parts_) until = std::min(until, part.next_event(part.self));
    if (log_.has_lines()) until = std::min(until, now + kLogPause);
    const auto events = poller_.wait(now, until);
    now = os::read_clock();
    for (const LoopPart& part : parts_) {
      if (part.begin_turn != nullptr) part.begin_turn(part.self, now);
    }
    for (const os::Poller::Event& event : events) event.handle();
    for (const LoopPart& part : parts_) part.advance(part.self, now);
    notifier_.keep_alive(now);
    log_.flush();
  }
}

void Loop::read_signals(os::EventSource& /*source*/, std::uint32_t /*events*/) {
  signalfd_siginfo signal{};
  while (::read(signals_.get(), &signal, sizeof signal) == sizeof signal) {
    if (signal.ssi_signo == SIGTERM || signal.ssi_signo == SIGINT) has_to_end_ = true;
    if (signal.ssi_signo == SIGHUP && reload_) reload_();
  }
}

}  // namespace haricot::web
