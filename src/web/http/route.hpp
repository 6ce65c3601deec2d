// Who answers which path: a table of rows.

#pragma once

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
  // Says nothing that anybody could want, and is asked under any name: no check of the Host.
  bool is_probe = false;
};

}  // namespace haricot::web
