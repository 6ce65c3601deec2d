// Finds a text in the body of a job, as a reader sees it, or as exact bytes.
//
// A reader sees `App\Jobs\Send` where the JSON of the body has `App\\Jobs\\Send`, and `Müller` for
// `M\u00fcller`. Therefore a text is searched in the body as it stands, and in the body with JSON
// escapes resolved once, and twice for JSON in a string of JSON. Upper and lower case are equal.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace haricot::web {

// Maps the upper and lower case of a letter to one number, for Latin, Greek, Cyrillic and Armenian.
std::uint32_t fold_case(std::uint32_t code);

class TextPattern final {
 public:
  // A part of a body, in bytes.
  struct Match {
    std::size_t offset = 0;
    std::size_t bytes = 0;
  };

  // Returns a pattern that matches the text as a reader sees it. Invalid UTF-8 bytes match
  // themselves.
  static TextPattern of_text(std::string_view text);
  // Returns a pattern that matches exactly these bytes.
  static TextPattern of_bytes(std::string_view bytes);

  // Returns the first match in the body as it stands, otherwise the first one with escapes
  // resolved. An empty pattern matches at the beginning. Takes time linear in the body for any
  // pattern.
  std::optional<Match> find(std::string_view body) const;

 private:
  TextPattern(std::vector<std::uint32_t> codes, bool is_text);
  std::optional<Match> find_at(std::string_view body, int level, bool& has_escapes) const;

  std::vector<std::uint32_t> codes_;
  // Length of the longest proper prefix that is also a suffix, for each prefix
  // (Knuth-Morris-Pratt).
  std::vector<std::uint32_t> borders_;
  std::array<bool, 256> may_begin_{};  // Bytes that can begin a match, except as escapes.
  bool is_text_;
};

}  // namespace haricot::web
