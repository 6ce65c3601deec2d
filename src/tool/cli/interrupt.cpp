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

}  // namespace haricot::tool
