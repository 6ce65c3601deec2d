// A line on the terminal that says how far long work is, and how long it will take.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "haricot/base/time.hpp"

namespace haricot::tool {

// Writes to stderr, if it is a terminal, and never waits for it: a terminal that is stopped
// (Ctrl-S) must not stop the work. Work that is over soon shows nothing.
class Progress final {
 public:
  // Where the results go meanwhile. Lines of results on the same terminal are progress enough.
  enum class Results : bool { at_end, as_they_come };

  // `verb` outlives the object: "moved" in "moved 120 of 500".
  Progress(std::string_view verb, bool is_quiet, Results results = Results::at_end);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Whether anything is ever written.
  bool is_wanted() const { return is_wanted_; }

  // Reports what is done at this instant, of how many in all; 0: unknown. Adds an estimate of the
  // time that is left, from the pace since the first call. To be called often: it writes some times
  // a second at most.
  void show(Instant now, std::uint64_t done, std::uint64_t all = 0);
  // Reports what is done where the share is known in another unit: `part` of `whole`, bytes say.
  void show_share(Instant now, std::uint64_t done, std::uint64_t part, std::uint64_t whole);
  // Writes at once what is done now, if the share is unknown.
  void say(std::string_view what);
  // Removes the line, so that something else can be written there.
  void clear();

 private:
  bool is_due(Instant now);
  std::string time_left(Instant now, std::uint64_t part, std::uint64_t whole);
  void write(const std::string& line);

  std::string_view verb_;
  bool is_wanted_;
  bool is_shown_ = false;
  std::optional<Instant> next_;  // Nothing: show() was never called.
  // Where the estimate begins.
  Instant begin_;
  std::optional<std::uint64_t> begin_part_;
};

}  // namespace haricot::tool
