// A response of HTTP as a value.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "web/http/request.hpp"

namespace haricot::web {

struct Response {
  std::uint16_t status = 200;
  std::string type = {};  // Content-Type; empty: none.
  std::string body = {};
  // Without those that the server adds: Content-Length, Date, Connection, those of security, and
  // Cache-Control where none is here. With an ETag, a request that knows it gets a 304.
  std::vector<Header> more = {};
};

}  // namespace haricot::web
