#include "tool/cli/interrupt.hpp"

#include <csignal>

namespace haricot::tool {
namespace {

// A handler has nothing else to write to.
volatile std::sig_atomic_t interrupted = 0;

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

bool is_interrupted() {
  return interrupted != 0;
}

InterruptHold::InterruptHold() {
  sigset_t held;
  sigemptyset(&held);
  sigaddset(&held, SIGINT);
  sigaddset(&held, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &held, &before_);
}

InterruptHold::~InterruptHold() {
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace haricot::tool
