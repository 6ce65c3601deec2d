// Numbers as people and programs write them: on command lines, in file names, in reports of
// servers.
//
// The parser of the protocol has its own reader (protocol/command.cpp): it runs for each command,
// and accepts exactly the numbers that beanstalkd accepts.

#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace haricot {

// Reads a number at the beginning of the text and removes it. Returns nothing, and leaves the text,
// if there is no digit or the number does not fit. Accepts digits, and a minus if the type is
// signed.
template <std::integral Number = std::uint64_t>
std::optional<Number> take_number(std::string_view& text, int base = 10) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// Reads a text that is only a number.
template <std::integral Number = std::uint64_t>
std::optional<Number> read_number(std::string_view text, int base = 10) {
  const std::optional<Number> number = take_number<Number>(text, base);
  return text.empty() ? number : std::nullopt;
}

// Reads a count: digits, and optionally k or M at the end for a thousand or a million. Returns
// nothing if the text has another form or the count does not fit.
std::optional<std::uint64_t> read_count(std::string_view text);

// Reads a size: digits, and optionally k, m or g at the end, in either case, for powers of 1024.
// Returns nothing if the text has another form or the size does not fit.
std::optional<std::uint64_t> read_bytes(std::string_view text);

// Reads a time, as milliseconds: seconds (90, 2.5), or numbers with the units d, h, m, s and ms
// from the largest to the smallest (1h30m, 250ms, 1.5h). A number has up to three decimals. Returns
// nothing if the text has another form, or the time does not fit or is not a whole number of
// milliseconds.
std::optional<std::uint64_t> read_milliseconds(std::string_view text);

}  // namespace haricot
