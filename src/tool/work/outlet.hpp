// Output that never blocks the caller, and a prefix for the lines of each of several programs.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace haricot::tool {

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

 private:
  void add_line(Outlet& to);

  std::string prefix_;
  std::string line_;  // Incomplete line.
};

}  // namespace haricot::tool
