// The secret that opens `haricot web`: a line in a file, and the cookie of who has shown it.
//
// The cookie is computed from the token. So the server keeps no sessions, and a new token ends all
// of them. Only digests are kept and compared, in a time that does not depend on what is given.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "web/serve/sha256.hpp"

namespace haricot::web {

class Token final {
 public:
  static constexpr std::size_t kBytesMin = 16;
  static constexpr std::size_t kBytesMax = 1024;

  // Reads the file: one line of kBytesMin to kBytesMax printing characters, that not everybody may
  // read. Nothing: `error` says why.
  static std::optional<Token> read(const std::string& path, std::string& error);
  // Requires: it has the form above.
  explicit Token(std::string_view text);

  bool is_token(std::string_view text) const;
  bool is_cookie(std::string_view value) const;
  // What a browser keeps. The name differs by token: browsers do not tell ports apart, so that two
  // programs on one machine would have each other's cookie.
  const std::string& cookie_name() const { return cookie_name_; }
  const std::string& cookie_value() const { return cookie_value_; }

 private:
  Digest token_;
  std::string cookie_name_;
  std::string cookie_value_;
  Digest cookie_;  // Of the value.
};

}  // namespace haricot::web
