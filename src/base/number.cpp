#include "haricot/base/number.hpp"

#include <string>

namespace haricot {
namespace {

// A number of so large units.
std::optional<std::uint64_t> read_multiple(std::string_view text, std::uint64_t unit) {
  const std::optional<std::uint64_t> number = read_number(text);
  std::uint64_t product = 0;
  if (!number || __builtin_mul_overflow(*number, unit, &product)) return std::nullopt;
  return product;
}

std::uint64_t unit_of_bytes(char letter) {
  switch (letter) {
    case 'k':
    case 'K':
      return std::uint64_t{1} << 10;
    case 'm':
    case 'M':
      return std::uint64_t{1} << 20;
    case 'g':
    case 'G':
      return std::uint64_t{1} << 30;
    default:
      return 1;
  }
}

}  // namespace

std::optional<std::uint64_t> read_count(std::string_view text) {
  std::uint64_t unit = 1;
  if (text.ends_with('k')) unit = 1'000;
  if (text.ends_with('M')) unit = 1'000'000;
  if (unit != 1) text.remove_suffix(1);
  return read_multiple(text, unit);
}

std::optional<std::uint64_t> read_bytes(std::string_view text) {
  const std::uint64_t unit = text.empty() ? 1 : unit_of_bytes(text.back());
  if (unit != 1) text.remove_suffix(1);
  return read_multiple(text, unit);
}

std::optional<std::uint64_t> read_milliseconds(std::string_view text) {
  constexpr std::size_t kDecimals = 3;
  const std::size_t dot = text.find('.');
  const std::string_view seconds = text.substr(0, dot);
  const std::string_view decimals =
      dot == std::string_view::npos ? std::string_view{} : text.substr(dot + 1);
  if (seconds.empty() || decimals.size() > kDecimals) return std::nullopt;
  std::string digits(seconds);
  digits += decimals;
  digits.append(kDecimals - decimals.size(), '0');
  return read_number(digits);
}

}  // namespace haricot
