#include "web/serve/site.hpp"

#include <algorithm>
#include <utility>

#include "web/http/header_text.hpp"
#include "web/http/refusal.hpp"

namespace haricot::web {
namespace {

constexpr std::string_view kLoginPath = "/login";
constexpr std::string_view kLogoutPath = "/logout";
constexpr const char* kHtml = "text/html; charset=utf-8";
constexpr std::size_t kLoginBytesMax = 2048;
constexpr const char* kHome = "./";  // Relative to /login and /logout, so that it is right behind a
                                     // proxy with any path.

bool is_look(Method method) {
  return method == Method::get || method == Method::head;
}

bool is_served_by(Method method, const Route& route) {
  return method == route.method || (method == Method::head && route.method == Method::get);
}

// Returns the relative path from `path` to the login page.
std::string login_target(std::string_view path) {
  std::string target;
  for (auto depth = std::count(path.begin(), path.end(), '/'); depth > 1; --depth) target += "../";
  return target + "login";
}

std::string login_page(std::string_view path, std::string_view message) {
  const std::string target = login_target(path);
  const std::string root = target.substr(0, target.size() - (kLoginPath.size() - 1));
  return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<title>haricot: log in</title>\n<link rel=\"stylesheet\" href=\"" +
         root + "page/page.css\">\n<script src=\"" + root +
         "page/login.js\" defer></script></head>\n<body class=\"login\"><main><h1>haricot</h1>\n"
         "<form method=\"post\" action=\"" +
         target + "\">\n<p role=\"status\">" + std::string(message) +
         "</p>\n<p><label for=\"token\">Token</label>\n"
         "<input type=\"password\" id=\"token\" name=\"token\" autocomplete=\"current-password\" "
         "required autofocus></p>\n<p><button type=\"submit\">Log in</button></p>\n"
         "</form></main></body></html>\n";
}

Response to_home(std::vector<Header> more = {}) {
  more.push_back({"Location", kHome});
  return {.status = 303, .more = std::move(more)};
}

}  // namespace

std::string security_headers() {
  return "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
         "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
         "frame-ancestors 'none'\r\n"
         "X-Content-Type-Options: nosniff\r\n"
         "X-Frame-Options: DENY\r\n"
         "Referrer-Policy: same-origin\r\n"  // Without it, a form would send Origin: null.
         "Cross-Origin-Opener-Policy: same-origin\r\n"
         "Cross-Origin-Resource-Policy: same-origin\r\n";
}

Site::Site(SiteOptions options, std::vector<Route> routes, const HashKey& key)
    : options_(std::move(options)), routes_(std::move(routes)), guesses_(key) {
  routes_.push_back(open_route<&Site::show_login>(Method::get, kLoginPath));
  routes_.push_back(open_route<&Site::take_login>(Method::post, kLoginPath));
  routes_.push_back(open_route<&Site::log_out>(Method::post, kLogoutPath));
}

bool Site::has_path(std::string_view path) const {
  return std::any_of(routes_.begin(), routes_.end(),
                     [path](const Route& route) { return route.path == path; });
}

template <auto kHandler>
Route Site::open_route(Method method, std::string_view path) {
  Route route{method, path,
              [](void* self, std::shared_ptr<Exchange> exchange) {
                const std::shared_ptr<Exchange> kept = std::move(exchange);
                (static_cast<Site*>(self)->*kHandler)(*kept);
              },
              this, false};
  route.is_page = true;
  route.body_bytes_max = method == Method::post ? kLoginBytesMax : 0;
  return route;
}

Site::Decision Site::judge(Request& request, std::string_view connection_peer, Instant now) {
  now_ = now;
  const auto refuse = [&](std::uint16_t status, std::string_view reason) {
    return Decision{.refused = refusal(request, status, reason)};
  };
  request.peer = access_.peer(request, connection_peer);
  const std::string& base = options_.base_path;
  if (!base.empty() && request.path.starts_with(base)) {
    const std::string rest = request.path.substr(base.size());
    if (rest.empty()) {
      return {.refused = Response{.status = 308, .more = {{"Location", base + "/"}}}};
    }
    // A base path such as /api is also a prefix of paths without it.
    if (rest.starts_with('/') && (has_path(rest) || !has_path(request.path))) request.path = rest;
  }
  const Route* found = nullptr;
  std::string allowed;
  for (const Route& route : routes_) {
    if (route.path != request.path) continue;
    if (is_served_by(request.method, route)) found = &route;
    allowed += allowed.empty() ? "" : ", ";
    allowed += route.method == Method::post ? "POST" : "GET, HEAD";
  }
  const bool is_probe = found != nullptr && found->is_probe;
  if (!is_probe && !access_.knows_host(request)) {
    return refuse(421, "Unknown host name. Add it with --host NAME.");
  }
  if (allowed.empty()) return refuse(404, "There is no such path.");
  if (found == nullptr) {
    Decision decision = refuse(405, "This path does not support the method.");
    decision.refused->more.push_back({"Allow", allowed});
    return decision;
  }
  return judge_route(request, *found);
}

Site::Decision Site::judge_route(Request& request, const Route& route) {
  Decision decision;
  decision.route = &route;
  const auto refuse = [&](std::uint16_t status, std::string_view reason) {
    decision.refused = refusal(request, status, reason);
    decision.is_refused_change = route.is_change;
    return decision;
  };
  if (route.is_probe) return decision;
  if ((decision.refused = slow_guess(request, route))) return decision;
  const bool is_logged_in = access_.is_logged_in(request);
  decision.is_trusted = access_.has_token() && is_logged_in;
  if (route.needs_login && !is_logged_in) {
    decision.refused = ask_for_login(request);
    decision.is_wrong_login = access_.has_wrong_token(request);
    decision.is_refused_change = route.is_change;
    if (decision.is_wrong_login) guesses_.add(request.peer, now_);
    return decision;
  }
  if (request.method == Method::post && !access_.is_same_origin(request)) {
    return refuse(
        403,
        "Changes must come from the page of this program, with Sec-Fetch-Site: same-origin or "
        "its address in Origin.");
  }
  if (!route.is_page && Access::is_from_other_site(request)) {
    return refuse(403, "Pages of other sites cannot request this. Open the address directly.");
  }
  request.may_change = access_.may_change(request);
  if (route.is_change && !request.may_change) return refuse(403, "changes are not allowed");
  return decision;
}

// Refuses to compare a token if the address has sent too many wrong ones. Cookies are always
// compared: they cannot be guessed, and their owner may share the address of an attacker.
std::optional<Response> Site::slow_guess(const Request& request, const Route& route) const {
  const bool is_login = request.method == Method::post && route.path == kLoginPath;
  const bool shows_token = route.needs_login && !request.header("Authorization").empty();
  if (!access_.has_token() || !(is_login || shows_token)) return std::nullopt;
  const Duration wait = guesses_.wait(request.peer, now_);
  if (wait.count() == 0) return std::nullopt;
  Response response = refusal(request, 429, "Too many wrong tokens from your address.");
  response.more.push_back({"Retry-After", std::to_string(wait.whole_seconds() + 1)});
  return response;
}

Response Site::ask_for_login(const Request& request) const {
  const bool is_browser =
      is_look(request.method) && request.header("Accept").find("text/html") != std::string::npos;
  Response response = refusal(request, 401, "The token is required: Authorization: Bearer TOKEN");
  if (is_browser) {
    response.type = kHtml;
    response.body = login_page(request.path, "");
  }
  response.more.push_back({"WWW-Authenticate", "Bearer"});
  return response;
}

void Site::show_login(Exchange& exchange) const {
  if (access_.is_logged_in(exchange.request())) return exchange.respond(to_home());
  exchange.respond({200, kHtml, login_page(kLoginPath, ""), {}});
}

void Site::take_login(Exchange& exchange) {
  const Request& request = exchange.request();
  const std::optional<Token>& token = options_.access.token;
  if (!token) return exchange.respond(to_home());
  const std::optional<std::string> given = find_parameter(request.body, "token");
  if (!given || !token->is_token(trim(*given))) {
    guesses_.add(request.peer, now_);
    exchange.log_action("login-refused", "", "", "");
    return exchange.respond({401, kHtml, login_page(kLoginPath, "Wrong token."), {}});
  }
  exchange.log_action("login", "", "", "");
  exchange.respond(to_home({cookie(request, token->cookie_value(), "")}));
}

void Site::log_out(Exchange& exchange) const {
  const std::optional<Token>& token = options_.access.token;
  if (!token) return exchange.respond(to_home());
  if (access_.is_logged_in(exchange.request())) exchange.log_action("logout", "", "", "");
  exchange.respond(to_home({cookie(exchange.request(), "", "; Max-Age=0")}));
}

// Sets no path, so the cookie applies to everything beside the login page, even behind a proxy with
// a path of its own.
Header Site::cookie(const Request& request, std::string_view value, std::string_view more) const {
  std::string text = options_.access.token->cookie_name() + "=";
  text += value;
  text += "; HttpOnly; SameSite=Strict";
  if (access_.is_encrypted(request)) text += "; Secure";
  text += more;
  return {"Set-Cookie", text};
}

}  // namespace haricot::web
