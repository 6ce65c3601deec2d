// The files of the page, embedded in the program. cmake/EmbedPage.cmake generates the source from
// the other files of this folder.

#pragma once

#include <span>
#include <string_view>

namespace haricot::web {

struct PageFile {
  std::string_view path;  // Path in URLs: '/' for index.html, '/page/x' for others.
  std::string_view type;  // Content-Type.
  std::string_view etag;  // With its quotes. Changes with the bytes.
  std::string_view bytes;
};

std::span<const PageFile> page_files();

}  // namespace haricot::web
