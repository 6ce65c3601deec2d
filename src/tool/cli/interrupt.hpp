// Ctrl-C, SIGTERM and the end of the terminal (SIGHUP). The first signal of a kind asks the
// subcommand to clean up and exit; the second one kills the process.
//
// After its cleanup an interrupted subcommand still ends by the signal, so that a loop in the shell
// that started it ends too.

#pragma once

#include <csignal>

namespace haricot::tool {

// Makes these signals set a flag, once each. An ignored SIGHUP stays ignored. Blocking system calls
// return EINTR.
void catch_interrupts();

// Sets the flag for a signal that was received by other means, such as a signalfd.
void remember_interrupt(int signal);

bool is_interrupted();

// Ends the process by the signal that interrupted it. Returns `status` if no signal did, and 128
// plus the signal's number if the signal does not end the process, as in process 1 of a container.
int end_as_interrupted(int status);

// Blocks these signals during its lifetime, for work that must not be left half done.
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
