// The table of routes, with the access rules for each request.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/sip_hash.hpp"
#include "haricot/base/time.hpp"
#include "web/http/exchange.hpp"
#include "web/http/message.hpp"
#include "web/serve/token.hpp"

namespace haricot::web {

struct AccessRules {
  std::vector<std::string> hosts = {};  // Host names of this program, in lower case.
  std::optional<Token> token = {};      // If empty, every client that can connect has access.
  bool allows_changes = false;
  // A proxy sets X-Forwarded-*. Otherwise clients could forge these headers.
  bool is_behind_proxy = false;
};

// Checks of host names, the token, and the origin of changes.
//
// A page of another site may be opened in a browser that can reach this program. It must not read
// the program through a name that resolves to it (DNS rebinding), and not cause changes (CSRF).
class Access final {
 public:
  // The rules must outlive the object, and may change.
  explicit Access(const AccessRules& rules) : rules_(rules) {}

  // Returns true if the host name of the request is an IP address, a name of the loopback
  // interface, or listed in the rules. No other site can have any of these.
  bool knows_host(const Request& request) const;
  // Returns true if the request contains the token or its cookie, or if there is no token.
  bool is_logged_in(const Request& request) const;
  // Returns true if a request comes from a page of this program, according to the browser's
  // headers.
  bool is_same_origin(const Request& request) const;
  // Returns true if a browser sends the request for a page of another site.
  static bool is_from_other_site(const Request& request);
  bool may_change(const Request& request) const {
    return rules_.allows_changes && request.method == Method::post && is_same_origin(request);
  }
  bool has_token() const { return rules_.token.has_value(); }
  // Returns true if the request contains a wrong token.
  bool has_wrong_token(const Request& request) const;
  // Returns the client's address, as given by the proxy if there is one, otherwise of the
  // connection.
  std::string peer(const Request& request, std::string_view connection_peer) const;
  // Returns true if the browser uses TLS, according to headers of the browser or a proxy.
  // Meaningful only for a POST.
  bool is_encrypted(const Request& request) const;

 private:
  // Returns the host and port that the browser has requested.
  std::string_view host(const Request& request) const;

  const AccessRules& rules_;
};

// Limits the rate of wrong tokens by address. Counts them in a table of fixed size. An address that
// is displaced from the table starts again at zero, so many addresses together can never lock out
// another one.
class GuessLimit final {
 public:
  static constexpr std::uint32_t kGuesses = 10;
  static constexpr Duration kInterval = Duration::seconds(60);

  explicit GuessLimit(const HashKey& key) : key_(key) {}

  // Counts a wrong token. `peer` is HOST:PORT, [V6]:PORT or an address without a port. IPv6
  // addresses count by /64.
  void add(std::string_view peer, Instant now);
  // Returns the time until the address may try again; 0 if it may now.
  Duration wait(std::string_view peer, Instant now) const;

 private:
  static constexpr std::size_t kWays = 4;
  static constexpr std::size_t kSets = 256;

  struct Entry {
    std::uint64_t address = 0;  // Hash; 0 if the entry is free.
    Instant ends;
    std::uint32_t guesses = 0;
  };
  std::uint64_t hash_of_address(std::string_view peer) const;

  HashKey key_;
  std::array<std::array<Entry, kWays>, kSets> sets_{};
};

struct SiteOptions {
  // Empty, or "/a" or "/a/b": the prefix of all paths that clients use. Paths without it are served
  // too, for a proxy that removes it, and for health checks.
  std::string base_path = {};
  AccessRules access = {};
};

// Returns headers for each response. They restrict what a browser may load and run, and which sites
// may embed the page.
std::string security_headers();

// Decides about each request, and serves the login page.
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
  Decision decide(Request& request, std::string_view connection_peer, Instant now);

  // Replaces the token. Requires: there was one.
  void set_token(Token token) { options_.access.token = std::move(token); }
  const SiteOptions& options() const { return options_; }
  const Access& access() const { return access_; }

 private:
  bool has_path(std::string_view path) const;
  Response require_login(const Request& request) const;
  // Returns a route of the login itself, which needs no login.
  template <auto kHandler>
  Route open_route(Method method, std::string_view path);
  Decision decide_route(Request& request, const Route& route);
  std::optional<Response> refuse_guess(const Request& request, const Route& route) const;
  void show_login(Exchange& exchange) const;
  void log_in(Exchange& exchange);
  void log_out(Exchange& exchange) const;
  Header cookie(const Request& request, std::string_view value, std::string_view more) const;

  SiteOptions options_;
  Access access_{options_.access};
  std::vector<Route> routes_;
  GuessLimit guesses_;
  Instant now_;  // Time of the last request.
};

}  // namespace haricot::web
