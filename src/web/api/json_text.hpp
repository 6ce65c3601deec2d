// An object of JSON, written member by member.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace haricot::web {

class JsonText final {
 public:
  JsonText& add(std::string_view name, std::string_view text);  // A string.
  JsonText& add(std::string_view name, const char* text) {
    return add(name, std::string_view(text));
  }
  JsonText& add(std::string_view name, std::uint64_t number);
  JsonText& add(std::string_view name, std::optional<std::uint64_t> number);
  JsonText& add(std::string_view name, std::optional<double> number);  // Three decimals.
  JsonText& add(std::string_view name, bool truth);
  JsonText& add_null(std::string_view name) { return add_json(name, "null"); }
  // A value that is JSON already.
  JsonText& add_json(std::string_view name, std::string_view json);

  std::string take() { return std::move(text_) + "}"; }

 private:
  std::string text_ = "{";
};

}  // namespace haricot::web
