// A table row that maps a path to its handler.

#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "web/http/exchange.hpp"

namespace haricot::web {

struct Route {
  Method method;          // `get` serves HEAD, too.
  std::string_view path;  // The whole path, without the base path.
  void (*handle)(void* self, std::shared_ptr<Exchange> exchange);
  void* self;  // First argument of handle(); outlives the table.
  // Requires a login if there is a token.
  bool needs_login = true;
  // A stream of events; their number is limited.
  bool is_events = false;
  // A health check. It reveals nothing, so it is served under any host name, and even when the
  // limits of connections and memory are reached.
  bool is_probe = false;
  // A page that other sites may link to. All other routes refuse requests that a browser sends for
  // another site: the site cannot read the answer, but could cause load.
  bool is_page = false;
  // Changes a server. If changes are not allowed, it is refused before its body is read.
  bool is_change = false;
  // Largest body of this route. The limit of the server applies, too.
  std::size_t body_bytes_max = 0;
};

}  // namespace haricot::web
