// The routes of the page: constants, each with an ETag.

#pragma once

#include <vector>

#include "web/http/route.hpp"

namespace haricot::web {

// One row for each file. Only index.html needs a login: the others are as public as the program.
std::vector<Route> page_routes();

}  // namespace haricot::web
