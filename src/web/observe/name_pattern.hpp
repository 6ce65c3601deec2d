// Regular expressions for names of tubes.
//
// A pattern is a non-deterministic automaton (Glushkov's construction), run as sets of positions.
// It has no backtracking and no cache: the time to match a name is bounded by positions times
// bytes, and matching allocates nothing.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace haricot::web {

// An expression in the syntax of RE2 that has to match a whole name. It supports literals, `.`,
// `[...]`, `[[:digit:]]`, `\d \w \s \D \W \S`, `\` before punctuation, `|`, `(...)` and `(?:...)`.
// It repeats with `*`, `+`, `?`, `{n}`, `{n,}` and `{n,m}`. `^` and `$` are allowed where they can
// match: at the beginning and at the end.
class NamePattern final {
 public:
  static constexpr std::size_t kBytesMax = 200;
  // Characters and classes after `{n,m}` is expanded.
  static constexpr std::size_t kPositionsMax = 256;

  // Returns null and sets `error` if the text is not a pattern or exceeds a limit.
  static std::unique_ptr<NamePattern> make(std::string_view text, std::string& error);

  bool matches(std::string_view name) const;
  // Returns an upper bound of the steps of matches() for a name of this length.
  std::size_t steps_for(std::size_t name_bytes) const {
    return (positions_ + 1) * (name_bytes + 1);
  }

 private:
  friend class PatternParser;
  static constexpr std::size_t kWordsMax = kPositionsMax / 64;

  NamePattern() = default;

  // Sets of positions, in rows of words_ words.
  std::size_t words_ = 1;
  std::size_t positions_ = 0;
  bool matches_empty_ = false;
  std::vector<std::uint64_t> first_;    // Positions that can begin a match.
  std::vector<std::uint64_t> last_;     // Positions that can end a match.
  std::vector<std::uint64_t> follow_;   // By position: the positions that can come next.
  std::vector<std::uint64_t> accepts_;  // By byte: the positions that accept it.
};

}  // namespace haricot::web
