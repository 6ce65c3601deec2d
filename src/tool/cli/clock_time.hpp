// Dates and times of the day on the command line, in the time zone of the process.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace haricot::tool {

// A time of the day without a date is the last one in the past, or the next one in the future.
enum class Nearest : bool { past, future };

// Reads HH:MM[:SS], YYYY-MM-DD, YYYY-MM-DD HH:MM[:SS] (or T in place of the blank), today,
// yesterday or tomorrow; a date alone is its midnight. Returns seconds since 1970, or nothing if
// the text is no such time. `now_s`: seconds since 1970.
std::optional<std::int64_t> read_clock_time(std::string_view text, std::int64_t now_s,
                                            Nearest nearest);

// Returns the current time in seconds since 1970.
std::int64_t clock_now_s();

inline constexpr std::string_view kDelayWanted =
    "a time, such as 90, 2.5, 250ms, 5m or 2d, or a time to come, such as 17:30, tomorrow or "
    "'2026-12-01 08:00'";
inline constexpr std::string_view kPastWanted =
    "a span, such as 90, 5m or 2d, or a time that has passed, such as 17:30, yesterday or "
    "'2026-12-01 08:00'";

// Setters for Flag::apply. The variable must outlive the flag.
//
// Accepts a span, or a clock time to come. Sets whole seconds from now on, rounded up.
std::function<bool(std::string_view)> set_delay(std::uint64_t& to);
// Accepts a span before now, or a clock time that has passed. Sets seconds since 1970.
std::function<bool(std::string_view)> set_past(std::optional<std::int64_t>& to);

}  // namespace haricot::tool
