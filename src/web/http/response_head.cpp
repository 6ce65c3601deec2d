#include "web/http/response_head.hpp"

#include "web/http/header_text.hpp"

namespace haricot::web {
namespace {

struct Reason {
  std::uint16_t status;
  std::string_view text;
};

constexpr Reason kReasons[] = {
    {200, "OK"},
    {303, "See Other"},
    {304, "Not Modified"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
};

// Returns the reason phrase; empty if unknown, because clients use only the number.
std::string_view reason_of(std::uint16_t status) {
  for (const Reason& reason : kReasons) {
    if (reason.status == status) return reason.text;
  }
  return {};
}

}  // namespace

void append_status(std::string& to, std::uint16_t status) {
  to += "HTTP/1.1 ";
  to += std::to_string(status);
  to += ' ';
  to += reason_of(status);
  to += "\r\n";
}

void append_header(std::string& to, std::string_view name, std::string_view value) {
  to += name;
  to += ": ";
  for (const char c : value) to += is_field_value({&c, 1}) ? c : '?';
  to += "\r\n";
}

bool names_tag(std::string_view if_none_match, std::string_view tag) {
  constexpr std::string_view kWeak = "W/";
  if (tag.empty()) return false;
  while (!if_none_match.empty()) {
    std::string_view one = take_element(if_none_match);
    if (one.starts_with(kWeak)) one.remove_prefix(kWeak.size());
    if (one == tag || one == "*") return true;
  }
  return false;
}

}  // namespace haricot::web
