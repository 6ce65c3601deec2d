// Ctrl-C, SIGTERM, or the end of the terminal (SIGHUP): the first of a kind asks what runs to end
// in good order, the second one ends the process.

#pragma once

#include <csignal>

namespace haricot::tool {

// From now on these only set a flag, once each; a SIGHUP that is ignored stays so. System calls
// that wait return EINTR.
void catch_interrupts();

bool is_interrupted();

// As long as it exists, these signals wait: for work that is not to be left half done.
class InterruptBlock final {
 public:
  InterruptBlock();
  ~InterruptBlock();
  InterruptBlock(const InterruptBlock&) = delete;
  InterruptBlock& operator=(const InterruptBlock&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace haricot::tool
