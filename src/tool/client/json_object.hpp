// JSON that is an object whose values are plain: what `haricot export` writes, read back, and what
// a program asks for over HTTP.

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
    enum class Kind : std::uint8_t { string, number, word, numbers };  // word: true, false or null.
    Kind kind = Kind::word;
    std::string text;  // Of a string, its bytes in UTF-8; otherwise as it is written.
    std::vector<std::string> items = {};  // Of an array of numbers.
  };

  enum class Arrays : bool { refused, of_numbers };

  // Nothing: it is no such object, and `error` says why. Values that are objects or other arrays,
  // and names that come twice, are refused.
  static std::optional<JsonObject> parse(std::string_view line, std::string& error,
                                         Arrays arrays = Arrays::refused);

  const std::vector<std::pair<std::string, Value>>& members() const { return members_; }
  // Null: there is no such name.
  const Value* find(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, Value>> members_;
};

// The bytes that are written in base64, with their padding. Nothing: it is no base64.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace haricot::tool
