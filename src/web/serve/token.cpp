#include "web/serve/token.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "haricot/base/encoding.hpp"
#include "os/descriptor.hpp"

namespace haricot::web {
namespace {

constexpr std::size_t kBlockBytes = 64;
constexpr std::size_t kRounds = 64;

// Fractional parts of the cube roots of the first 64 primes.
constexpr std::uint32_t kConstants[kRounds] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using State = std::array<std::uint32_t, 8>;
// Fractional parts of the square roots of the first eight primes.
constexpr State kStart = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

void add_block(State& state, std::string_view block) {
  std::array<std::uint32_t, kRounds> words{};
  for (std::size_t i = 0; i < kBlockBytes; ++i) {
    words[i / 4] = words[i / 4] << 8 | static_cast<unsigned char>(block[i]);
  }
  for (std::size_t i = 16; i < kRounds; ++i) {
    const std::uint32_t a = words[i - 15];
    const std::uint32_t b = words[i - 2];
    words[i] = words[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + words[i - 7] +
               (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < kRounds; ++i) {
    const std::uint32_t choice = (e & f) ^ (~e & g);
    const std::uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    const std::uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                                choice + kConstants[i] + words[i];
    const std::uint32_t second = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + majority;
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const State added = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += added[i];
}

}  // namespace

Digest sha256(std::string_view bytes) {
  State state = kStart;
  const std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
  while (bytes.size() >= kBlockBytes) {
    add_block(state, bytes.substr(0, kBlockBytes));
    bytes.remove_prefix(kBlockBytes);
  }
  // Padding: a bit, zeros, and the length in the last eight bytes of a block.
  std::string last(bytes);
  last += '\x80';
  while (last.size() % kBlockBytes != kBlockBytes - sizeof bits) last += '\0';
  for (int shift = 56; shift >= 0; shift -= 8) last += static_cast<char>(bits >> shift);
  for (std::size_t i = 0; i < last.size(); i += kBlockBytes) {
    add_block(state, std::string_view(last).substr(i, kBlockBytes));
  }
  Digest digest{};
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<std::uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

bool is_same_digest(const Digest& a, const Digest& b) {
  std::uint8_t difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference = static_cast<std::uint8_t>(difference | (a[i] ^ b[i]));
  }
  return difference == 0;
}

std::string hex(const Digest& digest) {
  std::string result;
  for (const std::uint8_t byte : digest) append_hex(result, byte);
  return result;
}

// Token -------------------------------------------------------------------------------------------

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
