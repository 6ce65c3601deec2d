// JSON objects: lines of `haricot export`, requests over HTTP, and bodies of jobs.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace haricot::tool {

class JsonObject final {
 public:
  struct Value {
    // A word is true, false or null; a nested value is an object or an array that was skipped.
    enum class Kind : std::uint8_t { string, number, word, numbers, nested };
    Kind kind = Kind::word;
    std::string text;  // Decoded UTF-8 of a string; otherwise the text as written.
    std::vector<std::string> items = {};  // Elements of an array of numbers.
  };

  // Values that are objects or arrays.
  enum class Nested : std::uint8_t { refused, arrays_of_numbers, skipped };

  // Returns nothing and sets `error` if the text is not an object with values of the accepted
  // kinds, or a name is repeated.
  static std::optional<JsonObject> parse(std::string_view text, std::string& error,
                                         Nested nested = Nested::refused);

  const std::vector<std::pair<std::string, Value>>& members() const { return members_; }
  // Returns null if there is no such name.
  const Value* find(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, Value>> members_;
};

// Returns the text with the escapes of JSON strings replaced. Keeps what is no valid escape.
std::string without_json_escapes(std::string_view text);

// Decodes base64 with padding. Returns nothing if the text is invalid.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace haricot::tool
