#include "web/http/message.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace haricot::web {
namespace {

Response refused(const std::string& path) {
  return refusal({.method = Method::get, .path = path}, 404, "no \"such\" <b>tube</b>");
}

TEST(Refusal, IsJsonBelowTheApi) {
  const Response response = refused("/api/tube");
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.type, kJsonType);
  EXPECT_EQ(response.body, R"({"error":"no \"such\" <b>tube</b>"})");
}

TEST(Refusal, IsTextElsewhere) {
  for (const char* path : {"/metrics", "/", "/apian", "/page/api/x"}) {
    const Response response = refused(path);
    EXPECT_EQ(response.type, "text/plain; charset=utf-8") << path;
    EXPECT_EQ(response.body, "no \"such\" <b>tube</b>\n") << path;
  }
}

TEST(FindParameter, ReadsForms) {
  EXPECT_EQ(find_parameter("token=a%2Bb+c&x", "token"), "a+b c");
  EXPECT_EQ(find_parameter("&&a=b=c&", "a"), "b=c");
  EXPECT_EQ(find_parameter("a", "a"), "");
  EXPECT_EQ(find_parameter("", "a"), std::nullopt);
  EXPECT_EQ(find_parameter("a=%zz", "a"), std::nullopt);
}

}  // namespace
}  // namespace haricot::web
