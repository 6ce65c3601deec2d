// /api/search: a search over all jobs of a server.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "web/http/exchange.hpp"
#include "web/observe/observer.hpp"

namespace haricot::web {

// Maps the upper and lower case of a letter to one number, for Latin, Greek, Cyrillic and Armenian.
std::uint32_t fold_case(std::uint32_t code);

// Finds a text in the body of a job, as a reader sees it, or as exact bytes.
//
// A reader sees `App\Jobs\Send` where the JSON of the body has `App\\Jobs\\Send`, and `Müller` for
// `M\u00fcller`. Therefore a text is searched in the body as it stands, and in the body with JSON
// escapes resolved once, and twice for JSON in a string of JSON. Upper and lower case are equal.
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

// Position of a search on a server that cannot list its jobs: from the number of puts down to 1,
// then up from there. As text: "down 17 3".
struct SearchCursor {
  bool is_up = false;
  std::uint64_t id = 0;     // The next id to ask for.
  std::uint64_t found = 0;  // Number of jobs that were found.

  static std::optional<SearchCursor> read(std::string_view text);
  std::string text() const;
};

// Answers with one piece of a search. It takes a fifth of a second, or ends with some hundred hits.
// The caller asks for the next piece with the position at which this one ended, so the program
// keeps no state of a search.
Task answer_search(Server& server, std::shared_ptr<Exchange> exchange);

}  // namespace haricot::web
