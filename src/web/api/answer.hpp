// Responses of the API.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "web/api/json_writer.hpp"
#include "web/http/exchange.hpp"
#include "web/http/refusal.hpp"

namespace haricot::web {

inline void answer(Exchange& exchange, std::string json) {
  exchange.respond(
      {.status = 200, .type = std::string(kJsonType), .body = std::move(json), .more = {}});
}

inline void refuse(Exchange& exchange, std::uint16_t status, std::string_view why) {
  exchange.respond(refusal(exchange.request(), status, why));
}

// Answers that the server was lost, or that too many questions are pending.
inline void refuse_lost(Exchange& exchange) {
  refuse(exchange, 502, "the server does not answer");
}

}  // namespace haricot::web
