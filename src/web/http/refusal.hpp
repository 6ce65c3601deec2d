// Responses that refuse a request.

#pragma once

#include <cstdint>
#include <string_view>

#include "web/http/request.hpp"
#include "web/http/response.hpp"

namespace haricot::web {

inline constexpr std::string_view kJsonType = "application/json; charset=utf-8";

// Returns {"error": reason} below /api, for programs, and otherwise the reason as text.
Response refusal(const Request& request, std::uint16_t status, std::string_view reason);

}  // namespace haricot::web
