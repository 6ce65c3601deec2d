#include "tool/cli/clock_time.hpp"

#include <algorithm>
#include <cstddef>
#include <ctime>

#include "haricot/base/number.hpp"
#include "tool/cli/command_line.hpp"

namespace haricot::tool {
namespace {

// Reads numbers from the front of a text.
class ClockReader {
 public:
  explicit ClockReader(std::string_view text) : rest_(text) {}

  // Takes this number of digits. Returns false if there are fewer, or the number is not from `min`
  // to `max`.
  bool take_number(std::size_t digits, int min, int max, int& to) {
    const std::string_view word = rest_.substr(0, digits);
    const std::optional<std::uint64_t> number = read_number(word);
    if (word.size() < digits || !number) return false;
    rest_.remove_prefix(digits);
    to = static_cast<int>(*number);
    return to >= min && to <= max;
  }
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // Takes HH:MM or HH:MM:SS, and requires the end of the text after it.
  bool take_time_of_day(std::tm& time) {
    if (!take_number(2, 0, 23, time.tm_hour) || !take(':')) return false;
    if (!take_number(2, 0, 59, time.tm_min)) return false;
    if (take(':') && !take_number(2, 0, 59, time.tm_sec)) return false;
    return at_end();
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

// Returns seconds since 1970. A day after the last one of the month is one of the next month.
std::int64_t seconds_of(std::tm time) {
  time.tm_isdst = -1;
  return std::mktime(&time);
}

std::optional<std::int64_t> read_date(std::string_view text) {
  ClockReader reader(text);
  std::tm time{};
  int year = 0;
  int month = 0;
  if (!reader.take_number(4, 1970, 9999, year) || !reader.take('-')) return std::nullopt;
  if (!reader.take_number(2, 1, 12, month) || !reader.take('-')) return std::nullopt;
  if (!reader.take_number(2, 1, 31, time.tm_mday)) return std::nullopt;
  const bool has_time = reader.take(' ') || reader.take('T');
  if (has_time ? !reader.take_time_of_day(time) : !reader.at_end()) return std::nullopt;
  time.tm_year = year - 1900;
  time.tm_mon = month - 1;
  const std::time_t seconds = seconds_of(time);
  std::tm same{};
  const bool is_a_day = ::localtime_r(&seconds, &same) != nullptr && same.tm_mday == time.tm_mday;
  return is_a_day ? std::optional<std::int64_t>(seconds) : std::nullopt;
}

}  // namespace

std::int64_t clock_now_s() {
  return std::time(nullptr);
}

std::optional<std::int64_t> read_clock_time(std::string_view text, std::int64_t now_s,
                                            Nearest nearest) {
  const std::time_t now = now_s;
  std::tm time{};
  if (::localtime_r(&now, &time) == nullptr) return std::nullopt;
  time.tm_hour = time.tm_min = time.tm_sec = 0;
  constexpr std::string_view kDays[] = {"yesterday", "today", "tomorrow"};
  const auto day = std::find(std::begin(kDays), std::end(kDays), text);
  if (day != std::end(kDays)) {
    time.tm_mday += static_cast<int>(day - std::begin(kDays)) - 1;
    return seconds_of(time);
  }
  if (!ClockReader(text).take_time_of_day(time)) return read_date(text);
  const std::int64_t today = seconds_of(time);
  if (nearest == Nearest::past && today > now_s) --time.tm_mday;
  if (nearest == Nearest::future && today < now_s) ++time.tm_mday;
  return seconds_of(time);
}

std::function<bool(std::string_view)> set_delay(std::uint64_t& to) {
  return [&to](std::string_view value) {
    const std::int64_t now = clock_now_s();
    const auto time = read_clock_time(value, now, Nearest::future);
    if (!time) return set_seconds(to)(value);
    to = static_cast<std::uint64_t>(std::max<std::int64_t>(*time - now, 0));
    return *time >= now && to <= kSecondsMax;
  };
}

std::function<bool(std::string_view)> set_past(std::optional<std::int64_t>& to) {
  return [&to](std::string_view value) {
    const std::int64_t now = clock_now_s();
    to = read_clock_time(value, now, Nearest::past);
    if (to) return *to <= now;
    const std::optional<std::uint64_t> span = read_seconds(value);
    if (span) to = now - static_cast<std::int64_t>(*span);
    return span.has_value();
  };
}

}  // namespace haricot::tool
