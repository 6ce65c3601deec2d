#include "tool/cli/interrupt.hpp"

namespace haricot::tool {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

constexpr int kSignalStatus = 128;  // Added to a signal's number, as in the status that a shell
                                    // reports.

// The first signal; 0 if there was none. Global, because a signal handler has no argument of ours.
volatile std::sig_atomic_t interrupted = 0;

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = remember_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int number : kSignals) {
    struct sigaction before {};
    ::sigaction(number, &action, &before);
    // Ignored by nohup, for example: the process has to outlive the terminal.
    if (number == SIGHUP && before.sa_handler == SIG_IGN) ::sigaction(number, &before, nullptr);
  }
}

void remember_interrupt(int signal) {
  if (interrupted == 0) interrupted = signal;
}

bool is_interrupted() {
  return interrupted != 0;
}

int end_as_interrupted(int status) {
  if (!is_interrupted()) return status;
  const int number = interrupted;
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  std::signal(number, SIG_DFL);
  ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
  ::raise(number);
  return kSignalStatus + number;
}

InterruptBlock::InterruptBlock() {
  sigset_t held;
  sigemptyset(&held);
  for (const int number : kSignals) sigaddset(&held, number);
  ::sigprocmask(SIG_BLOCK, &held, &before_);
}

InterruptBlock::~InterruptBlock() {
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace haricot::tool
