// JSON objects with plain values: lines of `haricot export`, and requests over HTTP.

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
    enum class Kind : std::uint8_t {
      string,
      number,
      word,
      numbers
    };  // A word is true, false or
        // null.
    Kind kind = Kind::word;
    std::string text;  // Decoded UTF-8 of a string; otherwise the text as written.
    std::vector<std::string> items = {};  // Elements of an array of numbers.
  };

  enum class Arrays : bool { refused, of_numbers };

  // Returns nothing and sets `error` if the text is not such an object. Rejects objects and other
  // arrays as values, and repeated names.
  static std::optional<JsonObject> parse(std::string_view line, std::string& error,
                                         Arrays arrays = Arrays::refused);

  const std::vector<std::pair<std::string, Value>>& members() const { return members_; }
  // Returns null if there is no such name.
  const Value* find(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, Value>> members_;
};

// Decodes base64 with padding. Returns nothing if the text is invalid.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace haricot::tool
