// Regular expressions for names of tubes, and labels of the tubes that match them.

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
//
// A pattern is a non-deterministic automaton (Glushkov's construction), run as sets of positions.
// It has no backtracking and no cache: the time to match a name is bounded by positions times
// bytes, and matching allocates nothing.
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

// Names under which tubes are summed (--tube-label 'emails-[0-9]+=emails'), for programs that keep
// creating tubes.
class TubeLabels final {
 public:
  static constexpr std::size_t kLabelsMax = 100;
  // Name of the sum of all tubes without a series of their own. No tube and no label can have this
  // name.
  static constexpr std::string_view kRest = "*";

  // Adds REGEX=NAME. Returns false and sets `error` if it is invalid.
  [[nodiscard]] bool add(std::string_view text, std::string& error);

  // Returns the label of a tube, from 1 on: the label of the first pattern that matches its name,
  // or else the label with its name. Returns 0 if there is none.
  std::uint8_t label_of(std::string_view tube) const;
  // Returns the names; the first one belongs to label 1. Several patterns may share a name.
  const std::vector<std::string>& names() const { return names_; }

 private:
  struct Row {
    std::unique_ptr<NamePattern> pattern;
    std::uint8_t label;
  };

  std::uint8_t label_at(std::vector<std::string>::const_iterator name) const {
    return static_cast<std::uint8_t>(name - names_.begin() + 1);
  }

  std::vector<Row> rows_;
  std::vector<std::string> names_;
};

}  // namespace haricot::web
