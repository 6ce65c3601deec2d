// Who answers which path: a table of rows.

#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "web/http/exchange.hpp"

namespace haricot::web {

struct Route {
  Method method;          // get serves HEAD too.
  std::string_view path;  // The whole path, without the base path.
  void (*handle)(void* self, std::shared_ptr<Exchange> exchange);
  void* self;  // Given to handle(); outlives the table.
  // Whether it is for those only who have shown the token, where there is one.
  bool needs_login = true;
  // A stream of events, of which there is a limit.
  bool is_events = false;
  // A probe of health. It reveals nothing, so it is served under any name, and also at the limits
  // of connections and memory.
  bool is_probe = false;
  // A page that other sites may link to. Every other route refuses requests that a browser sends
  // for another site, which cannot read the answer, but could make the program work.
  bool is_page = false;
  // A change of a server. Refused before its body is read if changes are not allowed.
  bool is_change = false;
  // Longest body, beside the limit of the server.
  std::size_t body_bytes_max = 0;
};

}  // namespace haricot::web
