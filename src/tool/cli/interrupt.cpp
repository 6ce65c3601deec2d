#include "tool/cli/interrupt.hpp"

#include <csignal>

namespace haricot::tool {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

// A handler has nothing else to write to.
volatile std::sig_atomic_t interrupted = 0;

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int number : kSignals) {
    struct sigaction before {};
    ::sigaction(number, &action, &before);
    // By nohup, say: then it is to outlive the terminal.
    if (number == SIGHUP && before.sa_handler == SIG_IGN) ::sigaction(number, &before, nullptr);
  }
}

bool is_interrupted() {
  return interrupted != 0;
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
