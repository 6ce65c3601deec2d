// What is behind which path, and who may have it: the table of routes with the rules of access.

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
  // Empty, or "/a" or "/a/b": what all paths of the program stand below, in front of a proxy.
  // Paths without it are served too, for a proxy that takes it away, and for probes.
  std::string base_path = {};
  AccessRules access = {};
};

// Lines that each response has: what a browser may load and run, and who may show the page.
std::string security_headers();

class Site final {
 public:
  // `key`: clients choose their addresses.
  Site(SiteOptions options, std::vector<Route> routes, const HashKey& key = {});
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  // What to do with a request whose head has come: answer with this response, or call the route.
  struct Decision {
    std::optional<Response> refused;
    const Route* route = nullptr;
    bool is_wrong_login = false;  // For the log, as the next one.
    bool is_refused_change = false;
    bool is_trusted = false;  // The request shows the token.
  };
  // Also takes the base path off the request's path, and sets may_change and peer.
  Decision judge(Request& request, std::string_view connection_peer, Instant now);

  // From now on another token opens the program. Requires: there was one.
  void set_token(Token token) { options_.access.token = std::move(token); }
  const SiteOptions& options() const { return options_; }
  const Access& access() const { return access_; }

 private:
  bool has_path(std::string_view path) const;
  Response ask_for_login(const Request& request) const;
  // The routes of the login itself.
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
  Instant now_;  // Of the last request.
};

}  // namespace haricot::web
