// Writes a JSON object member by member.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace haricot::web {

class JsonWriter final {
 public:
  JsonWriter& add(std::string_view name, std::string_view text);  // As a string.
  JsonWriter& add(std::string_view name, const char* text) {
    return add(name, std::string_view(text));
  }
  JsonWriter& add(std::string_view name, std::uint64_t number);
  JsonWriter& add(std::string_view name, std::optional<std::uint64_t> number);
  JsonWriter& add(std::string_view name, std::optional<double> number);  // With three decimals.
  JsonWriter& add(std::string_view name, bool truth);
  JsonWriter& add_null(std::string_view name) { return add_json(name, "null"); }
  // Adds a value that is JSON already.
  JsonWriter& add_json(std::string_view name, std::string_view json);

  std::string take() { return std::move(text_) + "}"; }

 private:
  std::string text_ = "{";
};

}  // namespace haricot::web
