// The routes of the page: constant files, each with an ETag.

#pragma once

#include <vector>

#include "web/http/route.hpp"

namespace haricot::web {

// Returns a route for each file. Only index.html needs a login: the other files are as public as
// the program.
std::vector<Route> page_routes();

}  // namespace haricot::web
