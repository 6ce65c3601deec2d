// Ctrl-C, SIGTERM, or the end of the terminal (SIGHUP): the first of a kind asks the subcommand to
// end in good order, the second one ends the process.
//
// A subcommand that was interrupted ends by that signal after all, so that the shell that started
// it, in a loop perhaps, is interrupted too.

#pragma once

#include <csignal>

namespace haricot::tool {

// From now on these signals only set a flag, once each; a SIGHUP that is ignored stays so. System
// calls that wait return EINTR.
void catch_interrupts();

// Sets the flag for a signal that was received in another way.
void remember_interrupt(int signal);

bool is_interrupted();

// Ends the process by the signal that has interrupted it. Returns the exit status if none has, or
// if the signal does not end the process, as in process 1 of a container.
int end_as_interrupted(int status);

// Blocks these signals as long as it exists: for work that is not to be left half done.
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
