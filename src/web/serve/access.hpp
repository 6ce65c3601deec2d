// Who may ask what: names of this host, the token, and where a change comes from.
//
// A page of another site, opened in a browser that reaches this program, must not read it by a name
// that leads here (DNS rebinding), nor make it act (CSRF).

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "web/http/request.hpp"
#include "web/serve/token.hpp"

namespace haricot::web {

struct AccessRules {
  std::vector<std::string> hosts =
      {};                           // Names under which this program is asked, in small letters.
  std::optional<Token> token = {};  // Nothing: who reaches the program may use it.
  bool allows_changes = false;
  // A proxy stands in front and sets X-Forwarded-*; else clients could set them as they like.
  bool is_behind_proxy = false;
};

class Access final {
 public:
  // The rules outlive it, and may change.
  explicit Access(const AccessRules& rules) : rules_(rules) {}

  // Whether the name that the request was sent to is one of ours: a number, a name of the loopback
  // interface, or one of the rules. No other site can have any of these.
  bool knows_host(const Request& request) const;
  // Whether the request shows the token, or its cookie. True if there is none.
  bool is_logged_in(const Request& request) const;
  // Whether a POST comes from a page of this program, as far as a browser tells.
  bool is_same_origin(const Request& request) const;
  // Returns true if a browser sends the request for a page of another site.
  static bool is_from_other_site(const Request& request);
  bool may_change(const Request& request) const {
    return rules_.allows_changes && request.method == Method::post && is_same_origin(request);
  }
  bool has_token() const { return rules_.token.has_value(); }
  // Returns true if the request shows a token that is not ours.
  bool has_wrong_token(const Request& request) const;
  // Who asks: the proxy's word where there is one, else the peer of the connection.
  std::string peer(const Request& request, std::string_view connection_peer) const;
  // The browser's side of the connection is encrypted, as the browser or a proxy says of a POST.
  bool is_encrypted(const Request& request) const;

 private:
  // The host as the browser has it, with its port.
  std::string_view host(const Request& request) const;

  const AccessRules& rules_;
};

}  // namespace haricot::web
