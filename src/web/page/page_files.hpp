// The files of the page, as they are in the program. cmake/EmbedPage.cmake makes the source from
// the other files of this folder.

#pragma once

#include <span>
#include <string_view>

namespace haricot::web {

struct PageFile {
  std::string_view path;  // Of HTTP: '/' for index.html, '/page/x' for others.
  std::string_view type;  // The Content-Type.
  std::string_view etag;  // With its quotes; another one for other bytes.
  std::string_view bytes;
};

std::span<const PageFile> page_files();

}  // namespace haricot::web
