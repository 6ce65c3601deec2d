// HTTP messages as values, and the syntax of their parts.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace haricot::web {

enum class Method : std::uint8_t { get, head, post, other };

// Returns true for methods that change nothing.
constexpr bool is_safe(Method method) {
  return method == Method::get || method == Method::head;
}

struct Header {
  std::string name;
  std::string value;
};

// Returns the value of a header, the first if there are several; null if there is none. The case of
// the name does not matter.
const std::string* find_header(const std::vector<Header>& headers, std::string_view name);

// Returns the decoded value of a field of a form (a=1&b=2, in a query or a body), the first if
// there are several. Returns nothing if there is no such field, or its encoding is invalid.
std::optional<std::string> find_parameter(std::string_view form, std::string_view name);

// A request, decoded and checked.
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
  // Returns the value of a header, like find_header(); empty if there is none.
  std::string_view header(std::string_view name) const;
};

struct Response {
  std::uint16_t status = 200;
  std::string type = {};  // Content-Type; empty for none.
  std::string body = {};
  // Headers of the response, without those that the server adds: Content-Length, Date, Connection,
  // security headers, and a default Cache-Control. With an ETag, a request that has the current
  // version gets a 304.
  std::vector<Header> more = {};
};

inline constexpr std::string_view kJsonType = "application/json; charset=utf-8";

// Returns {"error": reason} below /api, for programs, and otherwise the reason as text.
Response refusal(const Request& request, std::uint16_t status, std::string_view reason);

// Syntax of headers (RFC 9110, section 5, and RFC 9112, section 5) --------------------------------

// Returns true for a name of a header or a method, which is not empty.
bool is_token(std::string_view text);
// Returns true for a value of a header: printable characters, blanks, tabs, and bytes above ASCII.
bool is_field_value(std::string_view text);
// Removes blanks and tabs at both ends.
std::string_view trim(std::string_view text);
// Compares without regard to case.
bool is_same_word(std::string_view a, std::string_view b);
// Returns the text in lower case.
std::string lower(std::string_view text);
char lower(char c);

// Removes the next element, which may be empty, from a list and returns it. Requires: the list is
// not empty.
std::string_view take_element(std::string_view& list, char separator = ',');
// Returns true if a comma-separated list contains this word.
bool has_word(std::string_view list, std::string_view word);

// Percent-encoding of URLs (RFC 3986, section 2.1) ------------------------------------------------

// Meaning of '+': a blank in the query of a form, otherwise itself.
enum class Plus : bool { is_plus, is_blank };

// Returns the decoded bytes, which may be any. Returns nothing if a '%' is not followed by two
// hexadecimal digits.
std::optional<std::string> decode_percent(std::string_view text, Plus plus);

}  // namespace haricot::web
