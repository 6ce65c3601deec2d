# Writes a C++ source that contains the files of the page. A build runs it as a script if a file has changed:
#
#   cmake -DFOLDER=src/web/page -DINTO=page_files.cpp -P EmbedPage.cmake

set(type_html "text/html; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_svg "image/svg+xml")

file(GLOB files RELATIVE ${FOLDER} ${FOLDER}/*.html ${FOLDER}/*.css ${FOLDER}/*.js ${FOLDER}/*.svg)
set(rows "")
foreach(name ${files})
  file(READ ${FOLDER}/${name} bytes HEX)
  string(LENGTH ${bytes} digits)
  math(EXPR size "${digits} / 2")
  # Short lines, because a compiler keeps each line in memory.
  string(REGEX REPLACE "(................................................)" "\\1\"\n     \"" bytes ${bytes})
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" bytes ${bytes})
  file(SHA256 ${FOLDER}/${name} sum)
  string(SUBSTRING ${sum} 0 16 sum)
  cmake_path(GET name EXTENSION LAST_ONLY ending)
  string(SUBSTRING ${ending} 1 -1 ending)
  set(path /page/${name})
  if(name STREQUAL index.html)
    set(path /)
  endif()
  string(APPEND rows "    {\"${path}\", \"${type_${ending}}\", \"\\\"${sum}\\\"\",\n     {\"${bytes}\", ${size}}},\n")
endforeach()
file(WRITE ${INTO} "// Made by cmake/EmbedPage.cmake.

#include \"web/page/page_routes.hpp\"

namespace haricot::web {

namespace {

constexpr PageFile kPageFiles[] = {
${rows}};

}  // namespace

std::span<const PageFile> page_files() {
  return kPageFiles;
}

}  // namespace haricot::web
")
