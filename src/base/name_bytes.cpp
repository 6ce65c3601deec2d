#include "haricot/base/name_bytes.hpp"

#include <array>

namespace haricot {
namespace {

constexpr std::array<bool, 256> make_allowed() {
  std::array<bool, 256> allowed{};
  for (const char c : std::string_view(
           "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-+/;.$_()")) {
    allowed[static_cast<unsigned char>(c)] = true;
  }
  return allowed;
}

constexpr std::array<bool, 256> kAllowed = make_allowed();

}  // namespace

bool has_only_name_bytes(std::string_view text) {
  // Checking all bytes is faster than stopping at the first wrong one, because few are wrong. The
  // loop is unrolled, because most texts have more than a few bytes.
  bool are_allowed = true;
#pragma GCC unroll 8
  for (const char c : text) are_allowed &= kAllowed[static_cast<unsigned char>(c)];
  return are_allowed;
}

bool is_tube_name(std::string_view name) {
  if (name.empty() || name.size() > kTubeNameBytesMax || name.front() == '-') return false;
  return has_only_name_bytes(name);
}

}  // namespace haricot
