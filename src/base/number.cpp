#include "haricot/base/number.hpp"

#include <algorithm>
#include <iterator>
#include <string>

namespace haricot {
namespace {

// Reads a number of such units, and returns it as units of 1.
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

// Reads a number with up to three decimals, and returns it times 1000.
std::optional<std::uint64_t> read_thousandths(std::string_view text) {
  constexpr std::size_t kDecimals = 3;
  const std::size_t dot = text.find('.');
  const std::string_view whole = text.substr(0, dot);
  const std::string_view decimals =
      dot == std::string_view::npos ? std::string_view{} : text.substr(dot + 1);
  if (whole.empty() || decimals.size() > kDecimals) return std::nullopt;
  std::string digits(whole);
  digits += decimals;
  digits.append(kDecimals - decimals.size(), '0');
  return read_number(digits);
}

struct UnitOfTime {
  std::string_view name;
  std::uint64_t milliseconds;
};

// From the largest to the smallest.
constexpr UnitOfTime kUnitsOfTime[] = {
    {"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}};

// Reads numbers with units, each unit smaller than the one before, such as 1h30m.
std::optional<std::uint64_t> read_parts(std::string_view text) {
  std::uint64_t sum = 0;
  const UnitOfTime* unit = std::begin(kUnitsOfTime);
  while (!text.empty()) {
    const std::size_t number_bytes = text.find_first_not_of("0123456789.");
    if (number_bytes == std::string_view::npos) return std::nullopt;
    const std::optional<std::uint64_t> thousandths = read_thousandths(text.substr(0, number_bytes));
    text.remove_prefix(number_bytes);
    const std::string_view name = text.substr(0, text.find_first_of("0123456789."));
    text.remove_prefix(name.size());
    unit = std::find_if(unit, std::end(kUnitsOfTime),
                        [name](const UnitOfTime& other) { return other.name == name; });
    std::uint64_t part = 0;
    if (unit == std::end(kUnitsOfTime) || !thousandths ||
        __builtin_mul_overflow(*thousandths, unit->milliseconds, &part) || part % 1000 != 0 ||
        __builtin_add_overflow(sum, part / 1000, &sum)) {
      return std::nullopt;
    }
    ++unit;
  }
  return sum;
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
  if (text.find_first_of("dhms") != std::string_view::npos) return read_parts(text);
  return read_thousandths(text);
}

}  // namespace haricot
