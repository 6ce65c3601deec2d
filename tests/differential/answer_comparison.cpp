#include "answer_comparison.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "number_in.hpp"
#include "support/wire_client.hpp"

namespace haricot::test {
namespace {

constexpr std::array kSeconds = {"age", "time-left", "pause-time-left", "uptime"};
constexpr std::array kOfTheProcess = {"pid", "rusage-utime", "rusage-stime", "id"};
constexpr std::uint64_t kSecondsApartMax = 1;

template <typename Keys>
bool contains(const Keys& keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

bool seconds_agree(std::string_view left, std::string_view right, std::uint64_t late_s) {
  const auto a = number_in(left);
  const auto b = number_in(right);
  return a && b && (*a > *b ? *a - *b : *b - *a) <= kSecondsApartMax + late_s;
}

// Facts of a process cannot be equal, but have the same form: digits for digits, in any number, and
// all other characters equal.
bool forms_agree(std::string_view left, std::string_view right) {
  const auto is_dot = [](char c) { return c == '.'; };
  const auto is_hex = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '.';
  };
  return !left.empty() && !right.empty() && std::all_of(left.begin(), left.end(), is_hex) &&
         std::all_of(right.begin(), right.end(), is_hex) &&
         std::count_if(left.begin(), left.end(), is_dot) ==
             std::count_if(right.begin(), right.end(), is_dot);
}

bool lines_agree(std::string_view left, std::string_view right, bool is_stats,
                 std::uint64_t late_s) {
  if (left == right) return true;
  const std::size_t colon = left.find(": ");
  if (colon == std::string_view::npos || left.substr(0, colon + 2) != right.substr(0, colon + 2)) {
    return false;
  }
  const std::string_view key = left.substr(0, colon);
  left.remove_prefix(colon + 2);
  right.remove_prefix(colon + 2);
  if (contains(kSeconds, key)) return seconds_agree(left, right, late_s);
  // The `id` of stats-job is that of a job, the one of stats that of the process.
  return is_stats && contains(kOfTheProcess, key) && forms_agree(left, right);
}

bool is_of_stats(std::string_view answer) {
  return answer.find("\nrusage-utime: ") != std::string_view::npos;
}

// Removes the first line and returns it, with its LF if it has one.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::size_t length = end == std::string_view::npos ? text.size() : end + 1;
  std::string_view line = text.substr(0, length);
  text.remove_prefix(length);
  if (line.ends_with('\n')) line.remove_suffix(1);
  return line;
}

// Returns a report without the version of haricot, which follows the last key of beanstalkd's
// `stats`.
std::string without_our_version(std::string_view report) {
  std::string text(report);
  const std::size_t at = text.find("\nharicot-version: ");
  if (at != std::string::npos) text.erase(at, text.find('\n', at + 1) - at);
  return text;
}

}  // namespace

bool answers_agree(std::string_view left, std::string_view right, std::uint64_t late_s) {
  if (left == right) return true;
  // The numbers after OK differ with the numbers of digits below. The reader of the answer has
  // checked that each fits its own body.
  const bool yaml = left.starts_with("OK ") && right.starts_with("OK ");
  if (!yaml || !left.ends_with("\n\r\n") || !right.ends_with("\n\r\n")) return false;
  const bool is_stats = is_of_stats(left);
  const std::string ours = is_stats ? without_our_version(left) : std::string(left);
  left = ours;
  take_line(left);
  take_line(right);
  while (!left.empty() && !right.empty()) {
    if (!lines_agree(take_line(left), take_line(right), is_stats, late_s)) return false;
  }
  return left.empty() && right.empty();
}

std::string disagreeing_lines(std::string_view left, std::string_view right, std::uint64_t late_s) {
  if (!left.starts_with("OK ") || !right.starts_with("OK ")) return "";  // The one line is enough.
  const bool is_stats = is_of_stats(left);
  std::string text;
  while (!left.empty() || !right.empty()) {
    const std::string_view ours = take_line(left);
    const std::string_view theirs = take_line(right);
    if (lines_agree(ours, theirs, is_stats, late_s)) continue;
    text += "  left  " + escaped(ours) + "\n  right " + escaped(theirs) + "\n";
  }
  return text;
}

}  // namespace haricot::test
