// A program that runs for a job.

#pragma once

#include <signal.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/descriptor.hpp"

namespace haricot::tool {

// How a program ended.
struct ProgramEnd {
  int status = 0;  // Of exit; if a signal ended it, 128 and the signal's number, as in a shell.
  int signal = 0;  // 0: none ended it.
  // An errno where the process never became the program: nothing of it has run. 0: it did.
  int start_error = 0;

  bool is_good() const { return status == 0; }
};

struct ProgramStart {
  std::vector<std::string> words;        // The program, found as execvp() does, and its arguments.
  std::vector<std::string> environment;  // NAME=VALUE, in addition to ours.
  std::string_view input;                // What its stdin has.
  bool captures_output = true;           // Otherwise it writes to our stdout and stderr.
  sigset_t signal_mask{};                // Of the program.
};

// One run. The program is in a process group of its own. It ends when our process ends, however
// that ends: the kernel kills it. What the program itself has started goes on then.
class Program final {
 public:
  Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  // Kills it, and waits for its end.
  ~Program();

  // False: no process could be made, and `error` says why. A program that cannot be executed is
  // started, and ends with a start_error. Requires: none is running.
  [[nodiscard]] bool start(const ProgramStart& start, std::string& error);
  bool is_running() const { return process_ > 0; }

  // What it writes; do not block. Empty if it writes to our own.
  const os::Descriptor& output() const { return output_; }
  const os::Descriptor& error() const { return error_; }
  os::Descriptor& output() { return output_; }
  os::Descriptor& error() { return error_; }

  // Something: it has ended. The descriptors stay open, for the rest of its output.
  std::optional<ProgramEnd> take_end();
  // To its process group.
  void send_signal(int number) const;

 private:
  pid_t process_ = 0;
  os::Descriptor output_;
  os::Descriptor error_;
  os::Descriptor start_error_;  // Says why the process did not become the program.
};

}  // namespace haricot::tool
