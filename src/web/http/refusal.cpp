#include "web/http/refusal.hpp"

#include <string>

#include "haricot/base/json.hpp"

namespace haricot::web {

Response refusal(const Request& request, std::uint16_t status, std::string_view reason) {
  if (request.path.starts_with("/api/")) {
    return {.status = status,
            .type = std::string(kJsonType),
            .body = "{\"error\":" + json_string(reason) + "}"};
  }
  return {
      .status = status, .type = "text/plain; charset=utf-8", .body = std::string(reason) + "\n"};
}

}  // namespace haricot::web
