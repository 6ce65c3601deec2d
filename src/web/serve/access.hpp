// Access rules: host names, the token, and the origin of changes.
//
// A page of another site may be opened in a browser that can reach this program. It must not read
// the program through a name that resolves to it (DNS rebinding), and not cause changes (CSRF).

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "web/http/request.hpp"
#include "web/serve/token.hpp"

namespace haricot::web {

struct AccessRules {
  std::vector<std::string> hosts = {};  // Host names of this program, in lower case.
  std::optional<Token> token = {};      // If empty, every client that can connect has access.
  bool allows_changes = false;
  // A proxy sets X-Forwarded-*. Otherwise clients could forge these headers.
  bool is_behind_proxy = false;
};

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

}  // namespace haricot::web
