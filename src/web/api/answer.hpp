// Responses of the API.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "web/api/json_writer.hpp"
#include "web/http/exchange.hpp"

namespace haricot::web {

inline constexpr std::string_view kJsonType = "application/json; charset=utf-8";

inline void answer(Exchange& exchange, std::string json, std::uint16_t status = 200) {
  exchange.respond(
      {.status = status, .type = std::string(kJsonType), .body = std::move(json), .more = {}});
}

inline void refuse(Exchange& exchange, std::uint16_t status, std::string_view why) {
  answer(exchange, JsonWriter().add("error", why).take(), status);
}

// The server was lost, or nobody waits for more than it can answer.
inline void refuse_lost(Exchange& exchange) {
  refuse(exchange, 502, "the server does not answer");
}

}  // namespace haricot::web
