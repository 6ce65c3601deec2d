// Makes system calls of a running server fail or take long, by strace, while the test wants it.

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

  // Returns true if strace is installed and permitted to trace other processes.
  static bool are_possible();

  // Injects faults into all threads of the process, in strace's words:
  // `fdatasync:error=EIO:when=3+`. Returns false if it fails. Requires: not begun.
  [[nodiscard]] bool begin(pid_t server, const std::string& injection);

  // Returns the process id of strace. Requires: begun.
  pid_t tracer() const { return tracer_; }

  // Ends the faults. Does nothing if not begun.
  void end();

 private:
  pid_t tracer_ = -1;
};

}  // namespace haricot::test
