// Output of a subcommand: stdout, text that is safe for a terminal, and the progress of long work.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "haricot/base/time.hpp"

namespace haricot::tool {

// Write to stdout. These are functions, because there is one stdout. They remember a failed write,
// and end_output() reports it, so subcommands need not check each line. main() calls end_output()
// for all of them.
void print(std::string_view text);
[[gnu::format(printf, 1, 2)]] void print_format(const char* format, ...);
void flush();

// Flushes stdout and returns the exit status of subcommand `name`. If stdout could not be written,
// a status of 0 becomes kExitLocal. The first call also reports the failure on stderr, unless the
// reader closed the pipe (`| head`). May be called early by a caller that has to know whether its
// output was written.
int end_output(std::string_view name, int status);

// Make bytes from elsewhere safe for a terminal: nothing in them can control it.
//
// safe_word() is for a word in a line. Escapes every byte except printable ASCII, as \xHH.
std::string safe_word(std::string_view bytes);

// safe_lines() is for a body. Keeps line ends, tabs and UTF-8. Escapes characters that is_plain()
// (base/encoding.hpp) rejects, and bytes that are not UTF-8, as \xHH.
std::string safe_lines(std::string_view bytes);

// A line on the terminal with the progress of long work and the time that is left.
//
// Writes to stderr if it is a terminal. Skips a line rather than waiting for a stopped terminal
// (Ctrl-S). Shows nothing for work that ends within a quarter of a second.
class Progress final {
 public:
  // Results are written at the end, or as they come. In the second case a terminal that shows them
  // gets no line, because they are progress enough.
  enum class Results : bool { at_end, as_they_come };

  // Requires: `verb` outlives the object. Example: "moved" in "moved 120 of 500".
  Progress(std::string_view verb, bool is_quiet, Results results = Results::at_end);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Returns false if the object never writes anything.
  bool is_wanted() const { return is_wanted_; }

  // Reports `done` of `all` items (0: unknown) and estimates the time left from the pace since the
  // first call. Writes at most four times a second, so it may be called often.
  void show(Instant now, std::uint64_t done, std::uint64_t all = 0);
  // Reports `done` items when the share is known in another unit, such as bytes: `part` of `whole`.
  void show_share(Instant now, std::uint64_t done, std::uint64_t part, std::uint64_t whole);
  // Writes a description of the work at once, for work of unknown length.
  void say(std::string_view what);
  // Removes the line, to make place for other output.
  void clear();

 private:
  bool is_due(Instant now);
  std::string time_left(Instant now, std::uint64_t part, std::uint64_t whole);
  void write(const std::string& line);

  std::string_view verb_;
  bool is_wanted_;
  bool is_shown_ = false;
  std::optional<Instant> next_;  // Time of the next line; empty before the first show().
  // Start of the estimate.
  Instant begin_;
  std::optional<std::uint64_t> begin_part_;
};

}  // namespace haricot::tool
