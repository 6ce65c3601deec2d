// Numbers as people and programs write them: on command lines, in file names, in reports of
// servers.
//
// The parser of the protocol has a reader of its own (protocol/command.cpp): it runs for each
// command, and allows what beanstalkd allows.

#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace haricot {

// The number that the text begins with, which is cut off the text. Nothing, and the text stays as
// it is: there is no digit, or the number does not fit. Digits only, and a minus where the type has
// one.
template <std::integral Number = std::uint64_t>
std::optional<Number> take_number(std::string_view& text, int base = 10) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// The same, where nothing follows the number.
template <std::integral Number = std::uint64_t>
std::optional<Number> read_number(std::string_view text, int base = 10) {
  const std::optional<Number> number = take_number<Number>(text, base);
  return text.empty() ? number : std::nullopt;
}

// A count: digits, and at their end perhaps k or M for a thousand or a million. Nothing: it is
// something else, or does not fit.
std::optional<std::uint64_t> read_count(std::string_view text);

// Bytes: digits, and at their end perhaps k, m or g, large or small, for the powers of 1024.
// Nothing: it is something else, or does not fit.
std::optional<std::uint64_t> read_bytes(std::string_view text);

// A time, as milliseconds: seconds (90, 2.5), or numbers with the units d, h, m, s and ms from the
// largest to the smallest (1h30m, 250ms, 1.5h). A number has up to three decimals. Nothing: it is
// something else, does not fit, or is no whole number of milliseconds.
std::optional<std::uint64_t> read_milliseconds(std::string_view text);

}  // namespace haricot
