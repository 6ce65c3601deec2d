// An HTTP response as a value.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "web/http/request.hpp"

namespace haricot::web {

struct Response {
  std::uint16_t status = 200;
  std::string type = {};  // Content-Type; empty for none.
  std::string body = {};
  // Without the headers that the server adds: Content-Length, Date, Connection, security headers,
  // and a default Cache-Control. With an ETag, a request that has the current version gets a 304.
  std::vector<Header> more = {};
};

}  // namespace haricot::web
