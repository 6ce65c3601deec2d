// The answer of /api/servers, and of each event.

#pragma once

#include <string>
#include <string_view>

#include "web/observe/observer.hpp"

namespace haricot::web {

struct About {
  std::string version;  // Version of this program.
  bool allows_changes = false;
  bool has_login = false;  // There is a token, so users can log in and out.
  double interval_s = 2;
};

// Describes one server, or all if `name` is empty.
std::string servers_json(Observer& observer, const About& about, std::string_view name);

}  // namespace haricot::web
