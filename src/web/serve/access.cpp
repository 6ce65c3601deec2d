#include "web/serve/access.hpp"

#include <algorithm>
#include <cstddef>

#include "haricot/base/number.hpp"
#include "web/http/header_text.hpp"

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

}  // namespace haricot::web
