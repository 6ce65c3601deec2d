// The routes of the page: constant files, each with an ETag.

#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "web/http/exchange.hpp"

namespace haricot::web {

struct PageFile {
  std::string_view path;  // Path in URLs: '/' for index.html, '/page/x' for others.
  std::string_view type;  // Content-Type.
  std::string_view etag;  // With its quotes. Changes with the bytes.
  std::string_view bytes;
};

// Returns the files of this folder, embedded in the program. cmake/EmbedPage.cmake generates it.
std::span<const PageFile> page_files();

// Returns a route for each file. Only index.html needs a login: the other files are as public as
// the program.
std::vector<Route> page_routes();

}  // namespace haricot::web
