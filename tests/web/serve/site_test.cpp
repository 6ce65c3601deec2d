#include "web/serve/site.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "web/http/refusal.hpp"

namespace haricot::web {
namespace {

void do_nothing(void* /*self*/, std::shared_ptr<Exchange> /*exchange*/) {}

std::vector<Route> routes() {
  return {{Method::get, "/", &do_nothing, nullptr},
          {Method::get, "/both", &do_nothing, nullptr},
          {Method::post, "/both", &do_nothing, nullptr}};
}

Request request(Method method, std::string path, std::vector<Header> more = {}) {
  more.push_back({"Host", "localhost"});
  return {.method = method, .path = std::move(path), .headers = std::move(more)};
}

// The status of a refusal, or the path of the route.
std::string judge(const Site& site, Request request) {
  const Site::Decision decision = site.judge(request, "peer");
  return decision.refused ? std::to_string(decision.refused->status)
                          : std::string(decision.route->path);
}

TEST(Site, FindsTheRouteOfAPathAndAMethod) {
  const Site site({}, routes());
  EXPECT_EQ(judge(site, request(Method::get, "/")), "/");
  EXPECT_EQ(judge(site, request(Method::head, "/both")), "/both");
  EXPECT_EQ(judge(site, request(Method::get, "/both/")), "404");
  EXPECT_EQ(judge(site, request(Method::get, "/Both")), "404");
  EXPECT_EQ(judge(site, request(Method::post, "/")), "405");
  EXPECT_EQ(judge(site, request(Method::other, "/both")), "405");
  EXPECT_EQ(judge(site, request(Method::post, "/both")), "403") << "nobody says where it is from";
  EXPECT_EQ(judge(site, request(Method::post, "/both", {{"Sec-Fetch-Site", "same-origin"}})),
            "/both");
}

TEST(Site, LetsAChangeThroughOnlyWhereItIsAllowed) {
  for (const bool is_allowed : {false, true}) {
    const Site site({.access = {.allows_changes = is_allowed}}, routes());
    for (const Method method : {Method::get, Method::post}) {
      Request one = request(method, "/both", {{"Sec-Fetch-Site", "same-origin"}});
      (void)site.judge(one, "peer");
      EXPECT_EQ(one.may_change, is_allowed && method == Method::post);
    }
  }
}

TEST(Site, TakesTheBaseOffAPath) {
  const Site site({.base_path = "/a/b"}, routes());
  EXPECT_EQ(judge(site, request(Method::get, "/a/b/both")), "/both");
  EXPECT_EQ(judge(site, request(Method::get, "/both")), "/both");
  EXPECT_EQ(judge(site, request(Method::get, "/a/b")), "308");
  EXPECT_EQ(judge(site, request(Method::get, "/a/bboth")), "404");
  EXPECT_EQ(judge(site, request(Method::get, "/a/b//")), "404");
  EXPECT_EQ(judge(site, request(Method::get, "/a/b/a/b/both")), "404");
}

TEST(Site, SaysWhyNotInTheFormOfThePath) {
  const Site site({}, routes());
  Request for_programs = request(Method::get, "/api/\"x");
  const Response json = *site.judge(for_programs, "peer").refused;
  EXPECT_EQ(json.type, kJsonType);
  EXPECT_EQ(json.body, "{\"error\":\"There is nothing under this path.\"}");
  Request for_people = request(Method::get, "/x");
  EXPECT_EQ(site.judge(for_people, "peer").refused->body, "There is nothing under this path.\n");
}

TEST(Site, ForgetsLoginsWithTheToken) {
  Site site({.access = {.token = Token("the-first-token-here")}}, routes());
  const Header first{"Authorization", "Bearer the-first-token-here"};
  EXPECT_EQ(judge(site, request(Method::get, "/")), "401");
  EXPECT_EQ(judge(site, request(Method::get, "/", {first})), "/");
  site.set_token(Token("the-second-token-here"));
  EXPECT_EQ(judge(site, request(Method::get, "/", {first})), "401");
}

TEST(Token, CookiesOfTokensDiffer) {
  const Token one("the-first-token-here");
  const Token two("the-second-token-here");
  EXPECT_TRUE(one.is_cookie(one.cookie_value()));
  EXPECT_FALSE(two.is_cookie(one.cookie_value()));
  EXPECT_FALSE(one.is_token(one.cookie_value())) << "a stolen cookie is no token";
  EXPECT_FALSE(one.is_cookie("the-first-token-here"));
  EXPECT_NE(one.cookie_name(), two.cookie_name());
  EXPECT_EQ(one.cookie_value().size(), 64U);
}

}  // namespace
}  // namespace haricot::web
