// The secret that protects `haricot web`, and SHA-256, because only digests of it are stored.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace haricot::web {

using Digest = std::array<std::uint8_t, 32>;

// Returns the SHA-256 (FIPS 180-4).
Digest sha256(std::string_view bytes);
// Compares in constant time.
bool is_same_digest(const Digest& a, const Digest& b);
// Returns the digest in hexadecimal.
std::string hex(const Digest& digest);

// A line in a file, and the cookie of a browser that has sent it.
//
// The cookie derives from the token. So the server stores no sessions, and a new token ends all of
// them. Only digests are stored and compared, in constant time.
class Token final {
 public:
  static constexpr std::size_t kBytesMin = 16;
  static constexpr std::size_t kBytesMax = 1024;

  // Reads the file: one line of kBytesMin to kBytesMax printable characters, without permissions
  // for others. Returns nothing and sets `error` on failure.
  static std::optional<Token> read(const std::string& path, std::string& error);
  // Requires: `text` has the form above.
  explicit Token(std::string_view text);

  bool is_token(std::string_view text) const;
  bool is_cookie(std::string_view value) const;
  // The cookie of a browser. Its name depends on the token, because browsers share cookies between
  // ports, so two programs on one machine would overwrite each other's cookie.
  const std::string& cookie_name() const { return cookie_name_; }
  const std::string& cookie_value() const { return cookie_value_; }

 private:
  Digest token_;
  std::string cookie_name_;
  std::string cookie_value_;
  Digest cookie_;  // Digest of the cookie's value.
};

}  // namespace haricot::web
