// The table of routes, with the access rules for each request.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/time.hpp"
#include "web/http/response.hpp"
#include "web/http/route.hpp"
#include "web/serve/access.hpp"
#include "web/serve/guess_limit.hpp"

namespace haricot::web {

struct SiteOptions {
  // Empty, or "/a" or "/a/b": the prefix of all paths that clients use. Paths without it are served
  // too, for a proxy that removes it, and for health checks.
  std::string base_path = {};
  AccessRules access = {};
};

// Returns headers for each response. They restrict what a browser may load and run, and which sites
// may embed the page.
std::string security_headers();

class Site final {
 public:
  // `key` hashes client addresses, which clients can choose.
  Site(SiteOptions options, std::vector<Route> routes, const HashKey& key = {});
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  // Result for a request whose head has arrived: a refusal, or a route to call.
  struct Decision {
    std::optional<Response> refused;
    const Route* route = nullptr;
    bool is_wrong_login = false;  // For the log.
    bool is_refused_change = false;
    bool is_trusted = false;  // The request contains the token.
  };
  // Decides about a request. Also removes the base path from its path, and sets may_change and
  // peer.
  Decision judge(Request& request, std::string_view connection_peer, Instant now);

  // Replaces the token. Requires: there was one.
  void set_token(Token token) { options_.access.token = std::move(token); }
  const SiteOptions& options() const { return options_; }
  const Access& access() const { return access_; }

 private:
  bool has_path(std::string_view path) const;
  Response ask_for_login(const Request& request) const;
  // Returns a route of the login itself, which needs no login.
  template <auto kHandler>
  Route open_route(Method method, std::string_view path);
  Decision judge_route(Request& request, const Route& route);
  std::optional<Response> slow_guess(const Request& request, const Route& route) const;
  void show_login(Exchange& exchange) const;
  void take_login(Exchange& exchange);
  void log_out(Exchange& exchange) const;
  Header cookie(const Request& request, std::string_view value, std::string_view more) const;

  SiteOptions options_;
  Access access_{options_.access};
  std::vector<Route> routes_;
  GuessLimit guesses_;
  Instant now_;  // Time of the last request.
};

}  // namespace haricot::web
