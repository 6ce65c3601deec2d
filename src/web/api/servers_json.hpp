// What /api/servers says, and each event.

#pragma once

#include <string>
#include <string_view>

#include "web/observe/observer.hpp"

namespace haricot::web {

struct About {
  std::string version;  // Of this program.
  bool allows_changes = false;
  bool has_login = false;  // People log in with a token, and can log out.
  double interval_s = 2;
};

// An empty name: all of them.
std::string servers_json(Observer& observer, const About& about, std::string_view name);

}  // namespace haricot::web
