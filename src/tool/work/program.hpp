// A program that runs for a job, and output: buffers that never block the caller, and a prefix for
// the lines of each of several programs.

#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "os/descriptor.hpp"

namespace haricot::tool {

// The end of a program.
struct ProgramEnd {
  int status = 0;  // Exit status; 128 plus the signal's number if a signal ended it, as in a shell.
  int signal = 0;  // 0 if no signal ended it.
  // errno if the program could not be executed; otherwise 0.
  int start_error = 0;

  bool is_good() const { return status == 0; }
};

struct ProgramStart {
  std::vector<std::string> words;        // The program, searched for like execvp() does, and its
                                         // arguments.
  std::vector<std::string> environment;  // NAME=VALUE, in addition to our environment.
  std::string_view input;                // Contents of its stdin.
  bool captures_output = true;           // Otherwise it writes to our stdout and stderr.
  sigset_t signal_mask{};                // Blocked signals of the program.
};

// One run of a program, in a process group of its own. The kernel kills the program when our
// process ends in any way; processes that the program has started continue.
class Program final {
 public:
  Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  // Kills the program and waits for its end.
  ~Program();

  // Starts the program. Returns false and sets `error` if no process could be made. A program that
  // cannot be executed is started and ends with a start_error. Requires: !is_running().
  [[nodiscard]] bool start(const ProgramStart& start, std::string& error);
  bool is_running() const { return process_ > 0; }

  // Return the non-blocking ends of the pipes from its stdout and stderr; empty if it writes to
  // ours.
  const os::Descriptor& output() const { return output_; }
  const os::Descriptor& error() const { return error_; }
  os::Descriptor& output() { return output_; }
  os::Descriptor& error() { return error_; }

  // Returns the end of the program, or nothing while it runs. The pipes stay open for the rest of
  // the output.
  std::optional<ProgramEnd> take_end();
  // Sends a signal to its process group.
  void send_signal(int number) const;

 private:
  pid_t process_ = 0;
  os::Descriptor output_;
  os::Descriptor error_;
  os::Descriptor start_error_;  // Carries the errno of a failed exec.
};

// Buffers output until its descriptor, which other processes may share, accepts it.
class Outlet final {
 public:
  // Borrows the descriptor, which must stay open and is not made non-blocking.
  explicit Outlet(int descriptor);

  int descriptor() const { return descriptor_; }
  bool is_terminal() const { return is_terminal_; }
  // May throw std::bad_alloc.
  void add(std::string_view bytes);
  // Returns true if output is pending. Callers should add no more until it is written.
  bool has_more() const { return !pending_.empty(); }
  std::size_t pending_bytes() const { return pending_.size(); }
  // Writes as much as possible without blocking.
  void write_some();
  // Writes the rest. Gives up after `patience_ms` without progress.
  void finish(int patience_ms);
  // Returns 0, or the errno after which all output is discarded.
  int failure() const { return failure_; }

 private:
  int descriptor_;
  bool is_terminal_;
  std::size_t piece_bytes_;  // Bytes that can be written without blocking when there is room.
  std::string pending_;
  int failure_ = 0;
};

// Adds a prefix to each line of a stream that arrives in pieces. Escapes lines for a terminal
// (safe_lines).
class LinePrefix final {
 public:
  // Longer lines are split.
  static constexpr std::size_t kLineBytesMax = 8192;

  explicit LinePrefix(std::string prefix) : prefix_(std::move(prefix)) {}

  // Adds the lines that are now complete.
  void take(std::string_view bytes, Outlet& to);
  // Ends the stream: adds the rest with a line end.
  void finish(Outlet& to);
  // Returns the last line that is not empty, without its end; an empty text if there is none.
  const std::string& last_line() const { return last_line_; }

 private:
  void add_line(Outlet& to);

  std::string prefix_;
  std::string line_;  // Incomplete line.
  std::string last_line_;
};

}  // namespace haricot::tool
