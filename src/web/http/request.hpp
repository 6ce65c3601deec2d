// An HTTP request as a value, decoded and checked.

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

// Returns the decoded value of a field of a form (a=1&b=2, in a query or a body), the first if
// there are several. Returns nothing if there is no such field, or its encoding is invalid.
std::optional<std::string> find_parameter(std::string_view form, std::string_view name);

struct Request {
  Method method = Method::other;
  std::string path = {};   // Decoded, without the base path; begins with '/'.
  std::string query = {};  // Part after the '?', not decoded; see parameter().
  std::vector<Header> headers = {};
  std::string body = {};
  bool is_http10 = false;  // The peer uses HTTP/1.0 and does not know chunks.
  bool keeps_alive = true;
  // Changes are allowed (--allow-changes), and the request has passed all checks for them: it is a
  // POST from a page of this program.
  bool may_change = false;
  std::string peer = {};  // Address of the client for the log, perhaps as given by a proxy.

  // Returns the decoded value of a query parameter, the first if there are several; nothing if
  // there is none.
  std::optional<std::string> parameter(std::string_view name) const;
  // Returns the value of a header, the first if there are several; empty if there is none. The case
  // of the name does not matter.
  std::string_view header(std::string_view name) const;
};

}  // namespace haricot::web
