// Requests and responses of the API: checked parameters, and JSON.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "web/http/exchange.hpp"
#include "web/http/message.hpp"

namespace haricot::web {

// Reads parameters one by one. The first mistake becomes error().
class Parameters final {
 public:
  explicit Parameters(const Request& request) : request_(request) {}

  // Returns `otherwise` if it is not given.
  std::uint64_t number(std::string_view name, std::uint64_t otherwise, std::uint64_t max);
  std::string text(std::string_view name);
  // Returns a valid tube name; empty if it is not given.
  std::string tube(std::string_view name);
  // Returns a valid tube name, which is mandatory.
  std::string wanted_tube(std::string_view name);
  // Returns ready, reserved, delayed or buried; empty if it is not given.
  std::string state(std::string_view name);
  std::optional<std::uint64_t> optional_number(std::string_view name);

  // Returns an empty text if there was no mistake.
  const std::string& error() const { return error_; }
  void reject(std::string_view what);

 private:
  const Request& request_;
  std::string error_;
};

// Writes a JSON object member by member.
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

// Returns a JSON array of the items, which json_of() formats.
template <typename Items, typename JsonOf>
std::string array_json(const Items& items, JsonOf json_of) {
  std::string list = "[";
  for (const auto& item : items) {
    if (list.size() > 1) list += ',';
    list += json_of(item);
  }
  return list + "]";
}

// Sends a JSON response.
inline void answer(Exchange& exchange, std::string json) {
  exchange.respond(
      {.status = 200, .type = std::string(kJsonType), .body = std::move(json), .more = {}});
}

// Answers that the server was lost, or that too many questions are pending.
inline void refuse_lost(Exchange& exchange) {
  exchange.refuse(502, "the server does not answer");
}

}  // namespace haricot::web
