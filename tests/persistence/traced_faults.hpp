// System calls of a running server that fail or take long, by strace: from the outside, when the
// test wants it, and no longer than that.

#pragma once

#include <sys/types.h>

#include <string>

namespace haricot::test {

class TracedFaults final {
 public:
  TracedFaults() = default;
  TracedFaults(const TracedFaults&) = delete;
  TracedFaults& operator=(const TracedFaults&) = delete;
  ~TracedFaults() { end(); }

  // Whether strace is there and may look into other processes.
  static bool are_possible();

  // From now on all threads of the process get what `injection` says, in strace's words:
  // `fdatasync:error=EIO:when=3+`. False if that does not work. Requires: not begun.
  [[nodiscard]] bool begin(pid_t server, const std::string& injection);

  // Who traces. Requires: begun.
  pid_t tracer() const { return tracer_; }

  // Everything works again. Does nothing if not begun.
  void end();

 private:
  pid_t tracer_ = -1;
};

}  // namespace haricot::test
