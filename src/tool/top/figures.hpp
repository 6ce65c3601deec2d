// Numbers and names in few columns, for screens.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace haricot::tool {

// Largest width of grouped() and grouped_rate().
inline constexpr std::size_t kGroupedColumnsMax = 7;

// Formats 59207 as "59,207" and 1290000 as "1.2M", then with G, T, P and E. Truncates.
std::string grouped(std::uint64_t number);
// Formats a rate like grouped(), with one decimal below 10, and as "-" if it is unknown.
std::string grouped_rate(std::optional<double> rate);
// Formats 512 as "512 B" and 1610612736 as "1.5 GiB".
std::string format_bytes(std::uint64_t bytes);
// Formats 75 as "1:15" and 90061 as "1d 1:01:01".
std::string format_uptime(std::uint64_t seconds);
// Formats a time in at most five columns: 75 as "75s", 6000 as "100m", then hours, days and years.
std::string format_span(std::uint64_t seconds);

// Shortens printable ASCII to `columns` by cutting out its middle, because names of tubes often
// begin or end alike.
std::string shortened(std::string_view text, std::size_t columns);

}  // namespace haricot::tool
