#include "web/page/page_routes.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace haricot::web {
namespace {

constexpr std::size_t kPageBytesMax = 110'000;

std::string_view bytes_of(std::string_view path) {
  for (const PageFile& file : page_files()) {
    if (file.path == path) return file.bytes;
  }
  return {};
}

// Returns each text between `before` and the next quote.
std::vector<std::string> quoted_after(std::string_view text, std::string_view before) {
  std::vector<std::string> found;
  for (std::size_t at = text.find(before); at != text.npos; at = text.find(before, at + 1)) {
    const std::size_t begin = at + before.size();
    found.emplace_back(text.substr(begin, text.find_first_of("'\"", begin) - begin));
  }
  return found;
}

TEST(PageFiles, AreOneForEachPathAndHaveAType) {
  std::set<std::string_view> paths;
  std::set<std::string_view> tags;
  for (const PageFile& file : page_files()) {
    EXPECT_TRUE(paths.insert(file.path).second) << file.path;
    EXPECT_TRUE(tags.insert(file.etag).second) << file.path;
    EXPECT_FALSE(file.type.empty()) << file.path;
    EXPECT_FALSE(file.bytes.empty()) << file.path;
    EXPECT_EQ(file.etag.size(), 18U);
  }
  EXPECT_TRUE(bytes_of("/").starts_with("<!DOCTYPE html>\n"));
  EXPECT_TRUE(bytes_of("/").ends_with("</html>\n"));
  EXPECT_TRUE(bytes_of("/page/icon.svg").ends_with("</svg>\n"));
}

TEST(PageFiles, AreSmall) {
  std::size_t bytes = 0;
  for (const PageFile& file : page_files()) bytes += file.bytes.size();
  EXPECT_LT(bytes, kPageBytesMax);
}

TEST(PageFiles, NameOnlyFilesThatAreThere) {
  std::size_t names = 0;
  for (const std::string_view before : {"href=\"page/", "src=\"page/"}) {
    for (const std::string& name : quoted_after(bytes_of("/"), before)) {
      EXPECT_FALSE(bytes_of("/page/" + name).empty()) << name;
      ++names;
    }
  }
  for (const PageFile& file : page_files()) {
    for (const std::string& name : quoted_after(file.bytes, " from './")) {
      EXPECT_FALSE(bytes_of("/page/" + name).empty()) << file.path << " imports " << name;
      ++names;
    }
  }
  EXPECT_GT(names, 20U);
}

TEST(PageFiles, HaveNoScriptInTheDocumentAndNothingFromElsewhere) {
  const std::string_view document = bytes_of("/");
  EXPECT_EQ(document.find("<style"), document.npos);
  EXPECT_EQ(document.find("style="), document.npos);
  EXPECT_EQ(document.find("<script>"), document.npos);
  for (const PageFile& file : page_files()) {
    for (const std::string_view word : {"innerHTML", "outerHTML", "insertAdjacentHTML",
                                        "document.write", "eval(", "https://", "\"//", "'//"}) {
      EXPECT_EQ(file.bytes.find(word), file.bytes.npos) << file.path << " has " << word;
    }
  }
}

TEST(PageRoutes, AnswerTheFilesWithATag) {
  const std::vector<Route> routes = page_routes();
  ASSERT_EQ(routes.size(), page_files().size());
  const Exchange::Server server{nullptr, nullptr, ""};
  for (const Route& route : routes) {
    EXPECT_EQ(route.needs_login, route.path == "/");
    Request request;
    request.method = Method::get;
    const auto exchange = std::make_shared<Exchange>(std::move(request), server,
                                                     Exchange::Connection{nullptr, [](void*) {}});
    route.handle(route.self, exchange);
    const std::string_view output = exchange->output();
    EXPECT_TRUE(output.starts_with("HTTP/1.1 200 ")) << route.path;
    EXPECT_NE(output.find("ETag: \""), output.npos);
    EXPECT_NE(output.find("Cache-Control: no-cache\r\n"), output.npos);
    EXPECT_TRUE(output.ends_with(bytes_of(route.path)));
  }
}

}  // namespace
}  // namespace haricot::web
