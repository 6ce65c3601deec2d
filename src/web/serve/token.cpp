#include "web/serve/token.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "os/descriptor.hpp"

namespace haricot::web {
namespace {

// Prefixes that make the digests of one token differ.
constexpr std::string_view kOfToken = "haricot web token ";
constexpr std::string_view kOfCookie = "haricot web cookie ";
constexpr std::string_view kOfName = "haricot web cookie's name ";

Digest digest_of(std::string_view use, std::string_view text) {
  return sha256(std::string(use).append(text));
}

}  // namespace

Token::Token(std::string_view text)
    : token_(digest_of(kOfToken, text)),
      cookie_name_("haricot_" + hex(digest_of(kOfName, text)).substr(0, 8)),
      cookie_value_(hex(digest_of(kOfCookie, text))),
      cookie_(sha256(cookie_value_)) {}

std::optional<Token> Token::read(const std::string& path, std::string& error) {
  const os::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) {
    error = "cannot read " + path + ": " + std::strerror(errno);
    return std::nullopt;
  }
  if ((status.st_mode & S_IRWXO) != 0) {
    error = path + " is accessible to others; use chmod o=";
    return std::nullopt;
  }
  std::string text(kBytesMax + 2, '\0');
  const ssize_t bytes = ::read(file.get(), text.data(), text.size());
  if (bytes < 0) {
    error = "cannot read " + path + ": " + std::strerror(errno);
    return std::nullopt;
  }
  text.resize(static_cast<std::size_t>(bytes));
  if (text.ends_with('\n')) text.pop_back();
  const bool is_printing =
      std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (!is_printing || text.size() < kBytesMin || text.size() > kBytesMax) {
    error = path + " must be one line of 16 to 1024 printable characters without blanks";
    return std::nullopt;
  }
  return Token(text);
}

bool Token::is_token(std::string_view text) const {
  return is_same_digest(digest_of(kOfToken, text), token_);
}

bool Token::is_cookie(std::string_view value) const {
  return is_same_digest(sha256(value), cookie_);
}

}  // namespace haricot::web
