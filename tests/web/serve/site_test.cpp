#include "web/serve/site.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "web/http/message.hpp"

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

// Returns the status of a refusal, or the path of the route.
std::string decide(Site& site, Request request) {
  const Site::Decision decision = site.decide(request, "peer", Instant());
  return decision.refused ? std::to_string(decision.refused->status)
                          : std::string(decision.route->path);
}

TEST(Site, FindsTheRouteOfAPathAndAMethod) {
  Site site({}, routes());
  EXPECT_EQ(decide(site, request(Method::get, "/")), "/");
  EXPECT_EQ(decide(site, request(Method::head, "/both")), "/both");
  EXPECT_EQ(decide(site, request(Method::get, "/both/")), "404");
  EXPECT_EQ(decide(site, request(Method::get, "/Both")), "404");
  EXPECT_EQ(decide(site, request(Method::post, "/")), "405");
  EXPECT_EQ(decide(site, request(Method::other, "/both")), "405");
  EXPECT_EQ(decide(site, request(Method::post, "/both")), "403") << "nobody says where it is from";
  EXPECT_EQ(decide(site, request(Method::post, "/both", {{"Sec-Fetch-Site", "same-origin"}})),
            "/both");
}

TEST(Site, LetsAChangeThroughOnlyWhereItIsAllowed) {
  for (const bool is_allowed : {false, true}) {
    Site site({.access = {.allows_changes = is_allowed}}, routes());
    for (const Method method : {Method::get, Method::post}) {
      Request one = request(method, "/both", {{"Sec-Fetch-Site", "same-origin"}});
      (void)site.decide(one, "peer", Instant());
      EXPECT_EQ(one.may_change, is_allowed && method == Method::post);
    }
  }
}

TEST(Site, TakesTheBaseOffAPath) {
  Site site({.base_path = "/a/b"}, routes());
  EXPECT_EQ(decide(site, request(Method::get, "/a/b/both")), "/both");
  EXPECT_EQ(decide(site, request(Method::get, "/both")), "/both");
  EXPECT_EQ(decide(site, request(Method::get, "/a/b")), "308");
  EXPECT_EQ(decide(site, request(Method::get, "/a/bboth")), "404");
  EXPECT_EQ(decide(site, request(Method::get, "/a/b//")), "404");
  EXPECT_EQ(decide(site, request(Method::get, "/a/b/a/b/both")), "404");
}

TEST(Site, RefusesInTheFormOfThePath) {
  Site site({}, routes());
  Request for_programs = request(Method::get, "/api/\"x");
  const Response json = *site.decide(for_programs, "peer", Instant()).refused;
  EXPECT_EQ(json.type, kJsonType);
  EXPECT_EQ(json.body, "{\"error\":\"There is no such path.\"}");
  Request for_people = request(Method::get, "/x");
  EXPECT_EQ(site.decide(for_people, "peer", Instant()).refused->body, "There is no such path.\n");
}

TEST(Site, ForgetsLoginsWithTheToken) {
  Site site({.access = {.token = Token("the-first-token-here")}}, routes());
  const Header first{"Authorization", "Bearer the-first-token-here"};
  EXPECT_EQ(decide(site, request(Method::get, "/")), "401");
  EXPECT_EQ(decide(site, request(Method::get, "/", {first})), "/");
  site.set_token(Token("the-second-token-here"));
  EXPECT_EQ(decide(site, request(Method::get, "/", {first})), "401");
}

TEST(Site, RefusesRequestsOfOtherSitesExceptForItsPages) {
  Route page{Method::get, "/", &do_nothing, nullptr};
  page.is_page = true;
  Site site({}, {page, {Method::get, "/metrics", &do_nothing, nullptr}});
  for (const char* from : {"cross-site", "same-site"}) {
    EXPECT_EQ(decide(site, request(Method::get, "/metrics", {{"Sec-Fetch-Site", from}})), "403");
    EXPECT_EQ(decide(site, request(Method::get, "/", {{"Sec-Fetch-Site", from}})), "/");
  }
  for (const char* from : {"same-origin", "none"}) {
    EXPECT_EQ(decide(site, request(Method::get, "/metrics", {{"Sec-Fetch-Site", from}})),
              "/metrics");
  }
  EXPECT_EQ(decide(site, request(Method::get, "/metrics")), "/metrics")
      << "a program, not a browser";
}

TEST(Site, SlowsGuessesByAddress) {
  Site site({.access = {.token = Token("the-first-token-here")}}, routes());
  const Header good{"Authorization", "Bearer the-first-token-here"};
  const Header bad{"Authorization", "Bearer the-wrong-token-here"};
  const auto ask = [&](const Header& header, const char* peer, Instant now) {
    Request one = request(Method::get, "/", {header});
    const Site::Decision decision = site.decide(one, peer, now);
    return decision.refused ? decision.refused->status : 200;
  };
  const Instant now = Instant::at(0) + Duration::seconds(1000);
  for (std::uint32_t i = 0; i < GuessLimit::kGuesses; ++i) {
    const std::string peer = "10.0.0.1:" + std::to_string(1000 + i);
    EXPECT_EQ(ask(bad, peer.c_str(), now), 401);
  }
  EXPECT_EQ(ask(good, "10.0.0.1:99", now), 429) << "a guess is not even compared";
  EXPECT_EQ(ask(good, "10.0.0.2:99", now), 200);
  const Token token("the-first-token-here");
  EXPECT_EQ(ask({"Cookie", token.cookie_name() + "=" + token.cookie_value()}, "10.0.0.1:99", now),
            200);
  EXPECT_EQ(ask(good, "10.0.0.1:99", now + GuessLimit::kInterval), 200);
}

TEST(GuessLimit, CountsByNetworkAndForgetsWhenFull) {
  GuessLimit limit({1, 2});
  const Instant now = Instant::at(0) + Duration::seconds(1000);
  for (std::uint32_t i = 0; i < GuessLimit::kGuesses; ++i) {
    limit.add("[2001:db8::" + std::to_string(i) + "]:5", now);
  }
  EXPECT_GT(limit.wait("2001:db8::ffff", now).count(), 0) << "the same /64, as a proxy says it";
  EXPECT_EQ(limit.wait("[2001:db8:0:1::1]:5", now).count(), 0);
  for (int i = 0; i < 100'000; ++i) limit.add("10.0." + std::to_string(i), now);
  EXPECT_EQ(limit.wait("[2001:db8::1]:5", now).count(), 0) << "displaced by a crowd";
}

}  // namespace
}  // namespace haricot::web
