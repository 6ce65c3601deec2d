// Output that never makes the program wait, and the lines of many programs in one output.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace haricot::tool {

// Keeps what is written until its descriptor, which others may use too, takes it.
class Outlet final {
 public:
  // Borrowed: the descriptor stays open, and is not made non-blocking.
  explicit Outlet(int descriptor);

  int descriptor() const { return descriptor_; }
  bool is_terminal() const { return is_terminal_; }
  // May throw std::bad_alloc.
  void add(std::string_view bytes);
  // Whether there is something to write. Whoever adds more without need should wait until not.
  bool has_more() const { return !pending_.empty(); }
  std::size_t pending_bytes() const { return pending_.size(); }
  // Writes as much as can be written without waiting.
  void write_some();
  // Writes the rest. Waits for it, but no longer than `patience_ms` without progress.
  void finish(int patience_ms);
  // 0, or why the descriptor takes nothing any more. Then all that is added is thrown away.
  int failure() const { return failure_; }

 private:
  int descriptor_;
  bool is_terminal_;
  std::size_t piece_bytes_;  // What can be written without waiting when there is room at all.
  std::string pending_;
  int failure_ = 0;
};

// Puts a prefix before each line of a stream that comes in pieces. On a terminal nothing of a line
// steers it (safe_lines).
class LinePrefix final {
 public:
  // A longer line is cut in pieces of this size, each a line.
  static constexpr std::size_t kLineBytesMax = 8192;

  explicit LinePrefix(std::string prefix) : prefix_(std::move(prefix)) {}

  // Adds the lines that are complete now.
  void take(std::string_view bytes, Outlet& to);
  // The stream is over: adds what is left, with a line end.
  void finish(Outlet& to);

 private:
  void add_line(Outlet& to);

  std::string prefix_;
  std::string line_;  // Not complete yet.
};

}  // namespace haricot::tool
