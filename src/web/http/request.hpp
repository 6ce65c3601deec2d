// A request of HTTP as a value: what it asks for, decoded and checked.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace haricot::web {

enum class Method : std::uint8_t { get, head, post, other };

struct Header {
  std::string name;
  std::string value;
};

// The value of a field of a form (a=1&b=2, as a query or a body has it), decoded; the first of
// several. Nothing: not given, or no percent-encoding.
std::optional<std::string> find_parameter(std::string_view form, std::string_view name);

struct Request {
  Method method = Method::other;
  std::string path = {};   // Decoded, without the base path; begins with '/'.
  std::string query = {};  // As it came: what follows the '?'. parameter() decodes.
  std::vector<Header> headers = {};
  std::string body = {};
  bool is_http10 = false;  // The peer speaks HTTP/1.0: it knows no chunks.
  bool keeps_alive = true;
  // Changes are allowed (--allow-changes), and this request has passed all checks of one: POST, and
  // from a page of this program, or from no page.
  bool may_change = false;
  std::string peer = {};  // Who asks, for the log: an address, or what a proxy says.

  // The value of a parameter of the query, decoded; the first of several. Nothing: not given.
  std::optional<std::string> parameter(std::string_view name) const;
  // The value of a header, whatever the case of its name; the first of several. Empty: not given.
  std::string_view header(std::string_view name) const;
};

}  // namespace haricot::web
