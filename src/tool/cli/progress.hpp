// A line on the terminal that says how far long work is, for as long as the work lasts.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "haricot/base/time.hpp"

namespace haricot::tool {

// Writes to stderr, and only if stderr is a terminal: in a pipe there is nothing of it. Work that
// is over soon shows nothing.
class Progress final {
 public:
  // Where the results go meanwhile. Lines of results on the same terminal are progress enough.
  enum class Results : bool { at_end, as_they_come };

  // `verb` outlives the object: "moved" in "moved 120 of 500".
  Progress(std::string_view verb, bool is_quiet, Results results = Results::at_end);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // So many are done at this instant, of so many in all; 0: nobody knows. To be called often: it
  // writes some times a second at most.
  void show(Instant now, std::uint64_t done, std::uint64_t all = 0);
  // What is done now, where nobody knows how far it is. Is written at once.
  void say(std::string_view what);
  // Takes the line away, so that something else can be written there.
  void clear();

 private:
  std::string_view verb_;
  bool is_wanted_;
  bool is_shown_ = false;
  std::optional<Instant> next_;  // Nothing: show() was never called.
};

}  // namespace haricot::tool
