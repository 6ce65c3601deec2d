#include "web/serve/site.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <utility>

#include "haricot/base/number.hpp"

namespace haricot::web {
namespace {

// Returns the last element of the last header with this name, which the nearest proxy has appended.
std::string_view last_word(const Request& request, std::string_view name) {
  std::string_view word;
  for (const Header& header : request.headers) {
    if (!is_same_word(header.name, name)) continue;
    std::string_view list = header.value;
    while (!list.empty()) word = take_element(list);
  }
  return word;
}

// Returns the name in lower case, without the port.
std::string name_of(std::string_view host) {
  const std::size_t bracket = host.rfind(']');
  const std::size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
  return lower(host.substr(0, colon));
}

bool is_v4(std::string_view name) {
  int numbers = 0;
  while (!name.empty()) {
    const std::string_view part = take_element(name, '.');
    if (!read_number<std::uint8_t>(part)) return false;
    ++numbers;
  }
  return numbers == 4;
}

// Returns true for an IP address. A name in brackets is never resolved.
bool is_number(std::string_view name) {
  return is_v4(name) || (name.starts_with('[') && name.ends_with(']'));
}

std::string without_suffix(std::string text, std::string_view suffix) {
  if (text.ends_with(suffix)) text.resize(text.size() - suffix.size());
  return text;
}

}  // namespace

std::string_view Access::host(const Request& request) const {
  const std::string_view forwarded =
      rules_.is_behind_proxy ? last_word(request, "X-Forwarded-Host") : std::string_view{};
  return forwarded.empty() ? request.header("Host") : forwarded;
}

bool Access::knows_host(const Request& request) const {
  constexpr std::string_view kLoopback = "localhost";
  const std::string name = without_suffix(name_of(host(request)), ".");
  return is_number(name) || name == kLoopback || name.ends_with("." + std::string(kLoopback)) ||
         std::find(rules_.hosts.begin(), rules_.hosts.end(), name) != rules_.hosts.end();
}

bool Access::is_logged_in(const Request& request) const {
  if (!rules_.token) return true;
  const Token& token = *rules_.token;
  std::string_view credentials = request.header("Authorization");
  if (is_same_word(take_element(credentials, ' '), "Bearer") && token.is_token(trim(credentials))) {
    return true;
  }
  for (const Header& header : request.headers) {
    if (!is_same_word(header.name, "Cookie")) continue;
    std::string_view cookies = header.value;
    while (!cookies.empty()) {
      std::string_view value = take_element(cookies, ';');
      if (take_element(value, '=') == token.cookie_name() && token.is_cookie(value)) return true;
    }
  }
  return false;
}

bool Access::is_encrypted(const Request& request) const {
  // A tunnel sets no header, but browsers send the origin of each POST.
  return lower(request.header("Origin")).starts_with("https://") ||
         (rules_.is_behind_proxy && is_same_word(last_word(request, "X-Forwarded-Proto"), "https"));
}

// Browsers send Sec-Fetch-Site, except on a page without TLS under another name than localhost.
// There they send the Origin of each POST. A program that is no browser has to set one of them.
bool Access::is_same_origin(const Request& request) const {
  const std::string_view site = request.header("Sec-Fetch-Site");
  if (!site.empty()) return site == "same-origin";
  const std::string origin = lower(request.header("Origin"));
  for (const auto& [scheme, port] : {std::pair("http://", ":80"), {"https://", ":443"}}) {
    if (!origin.starts_with(scheme)) continue;
    const std::string own = lower(host(request));
    return !own.empty() && without_suffix(origin.substr(std::string_view(scheme).size()), port) ==
                               without_suffix(own, port);
  }
  return false;
}

bool Access::is_from_other_site(const Request& request) {
  const std::string_view site = request.header("Sec-Fetch-Site");
  // "none" means that the user typed the address or opened a bookmark.
  return !site.empty() && site != "same-origin" && site != "none";
}

bool Access::has_wrong_token(const Request& request) const {
  return rules_.token && !request.header("Authorization").empty() && !is_logged_in(request);
}

std::string Access::peer(const Request& request, std::string_view connection_peer) const {
  const std::string_view forwarded =
      rules_.is_behind_proxy ? last_word(request, "X-Forwarded-For") : std::string_view{};
  return std::string(forwarded.empty() ? connection_peer : forwarded);
}

// GuessLimit --------------------------------------------------------------------------------------

std::uint64_t GuessLimit::hash_of_address(std::string_view peer) const {
  constexpr std::size_t kNetBytes = 8;
  std::string host(peer);
  const bool in_brackets = host.starts_with('[');
  if (in_brackets) {
    host = host.substr(1, std::min(host.find(']'), host.size()) - 1);
  } else if (host.find(':') == host.rfind(':')) {
    host.resize(std::min(host.find(':'), host.size()));
  }
  in6_addr v6{};
  const bool is_v6 = ::inet_pton(AF_INET6, host.c_str(), &v6) == 1;
  // An IPv4-mapped address counts by itself, not with its IPv6 network.
  if (is_v6 && !IN6_IS_ADDR_V4MAPPED(&v6)) {
    host.assign(reinterpret_cast<const char*>(v6.s6_addr), kNetBytes);
  }
  return std::max<std::uint64_t>(hash_of(key_, host), 1);
}

void GuessLimit::add(std::string_view peer, Instant now) {
  const std::uint64_t address = hash_of_address(peer);
  std::array<Entry, kWays>& set = sets_[address % kSets];
  auto found = std::find_if(set.begin(), set.end(),
                            [address](const Entry& entry) { return entry.address == address; });
  if (found == set.end()) {
    found = std::min_element(set.begin(), set.end(),
                             [](const Entry& a, const Entry& b) { return a.ends < b.ends; });
  }
  if (found->address != address || now >= found->ends) *found = {address, now + kInterval, 0};
  ++found->guesses;
}

Duration GuessLimit::wait(std::string_view peer, Instant now) const {
  const std::uint64_t address = hash_of_address(peer);
  for (const Entry& entry : sets_[address % kSets]) {
    if (entry.address == address && entry.guesses >= kGuesses && now < entry.ends) {
      return entry.ends - now;
    }
  }
  return Duration::seconds(0);
}

// Site --------------------------------------------------------------------------------------------

namespace {

constexpr std::string_view kLoginPath = "/login";
constexpr std::string_view kLogoutPath = "/logout";
constexpr const char* kHtml = "text/html; charset=utf-8";
constexpr std::size_t kLoginBytesMax = 2048;
constexpr const char* kHome = "./";  // Relative to /login and /logout, so that it is right behind a
                                     // proxy with any path.

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
  routes_.push_back(open_route<&Site::log_in>(Method::post, kLoginPath));
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

Site::Decision Site::decide(Request& request, std::string_view connection_peer, Instant now) {
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
  return decide_route(request, *found);
}

Site::Decision Site::decide_route(Request& request, const Route& route) {
  Decision decision;
  decision.route = &route;
  const auto refuse = [&](std::uint16_t status, std::string_view reason) {
    decision.refused = refusal(request, status, reason);
    decision.is_refused_change = route.is_change;
    return decision;
  };
  if (route.is_probe) return decision;
  if ((decision.refused = refuse_guess(request, route))) return decision;
  const bool is_logged_in = access_.is_logged_in(request);
  decision.is_trusted = access_.has_token() && is_logged_in;
  if (route.needs_login && !is_logged_in) {
    decision.refused = require_login(request);
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
std::optional<Response> Site::refuse_guess(const Request& request, const Route& route) const {
  const bool is_login = request.method == Method::post && route.path == kLoginPath;
  const bool shows_token = route.needs_login && !request.header("Authorization").empty();
  if (!access_.has_token() || !(is_login || shows_token)) return std::nullopt;
  const Duration wait = guesses_.wait(request.peer, now_);
  if (wait.count() == 0) return std::nullopt;
  Response response = refusal(request, 429, "Too many wrong tokens from your address.");
  response.more.push_back({"Retry-After", std::to_string(wait.whole_seconds() + 1)});
  return response;
}

Response Site::require_login(const Request& request) const {
  const bool is_browser =
      is_safe(request.method) && request.header("Accept").find("text/html") != std::string::npos;
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

void Site::log_in(Exchange& exchange) {
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
