// Numbers and names in few columns, for a person who looks at a screen.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace haricot::tool {

// No number of grouped() and grouped_rate() is longer.
inline constexpr std::size_t kGroupedColumnsMax = 7;

// 59207 as "59,207", 1290000 as "1.2M", then G, T, P and E. What is cut off is not rounded up.
std::string grouped(std::uint64_t number);
// The same of a rate, with one decimal below 10; "-" if it is not known.
std::string grouped_rate(std::optional<double> rate);
// 512 as "512 B", 1610612736 as "1.5 GiB".
std::string format_bytes(std::uint64_t bytes);
// 75 as "1:15", 90061 as "1d 1:01:01".
std::string format_uptime(std::uint64_t seconds);
// At most five columns: 75 as "75s", 6000 as "100m", then hours, days and years.
std::string format_span(std::uint64_t seconds);

// At most so many columns of a text of printable ASCII: what is too much is cut out of its middle,
// because tubes often have the same beginning or the same end.
std::string shortened(std::string_view text, std::size_t columns);

}  // namespace haricot::tool
