#include "yaml_check.hpp"

#include <regex.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>
#include <system_error>

#include "escaped_text.hpp"

namespace haricot::conformance {
namespace {

struct Line {
  std::string_view key;
  std::string_view value;
};

std::optional<std::uint64_t> read_number(std::string_view text) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, number);
  if (text.empty() || failure != std::errc{} || stop != end) return std::nullopt;
  return number;
}

struct Range {
  std::uint64_t low;
  std::uint64_t high;
};

std::optional<Range> read_range(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  const auto low = read_number(text.substr(0, dots));
  const auto high = read_number(text.substr(dots + 2));
  if (!low || !high) return std::nullopt;
  return Range{*low, *high};
}

// Keys whose seconds change with time: growing ones, and shrinking ones.
constexpr std::string_view kGrowing[] = {
    "age", "uptime", "idle", "age-oldest-ready", "age-oldest-buried", "buried-ago"};
constexpr std::string_view kShrinking[] = {"time-left", "pause-time-left"};

// Returns the values that are possible if this many more seconds have passed.
std::optional<Range> read_range_later(const YamlItem& item, std::uint64_t late_s) {
  std::optional<Range> range = read_range(item.value);
  if (late_s == 0) return range;
  const auto is_among = [&](const auto& keys) {
    return std::find(std::begin(keys), std::end(keys), item.key) != std::end(keys);
  };
  const bool grows = is_among(kGrowing);
  if (!grows && !is_among(kShrinking)) return range;
  if (const auto number = read_number(item.value)) range = Range{*number, *number};
  if (!range) return range;
  if (grows) range->high += late_s;
  if (!grows) range->low -= std::min(range->low, late_s);
  return range;
}

bool is_regex(std::string_view text) {
  return text.size() >= 2 && text.front() == '/' && text.back() == '/';
}

// A POSIX extended regular expression for whole values, from the text between the slashes. (With
// the standard library's, g++ 12 warns in a build with a sanitizer.)
class Pattern final {
 public:
  explicit Pattern(std::string_view slashed) {
    const std::string text = "^(" + std::string(slashed.substr(1, slashed.size() - 2)) + ")$";
    compiled_ = ::regcomp(&regex_, text.c_str(), REG_EXTENDED | REG_NOSUB) == 0;
  }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  ~Pattern() {
    if (compiled_) ::regfree(&regex_);
  }

  bool is_valid() const { return compiled_; }
  // Requires: is_valid().
  bool fits(const std::string& value) const {
    return ::regexec(&regex_, value.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  regex_t regex_;
  bool compiled_;
};

std::string_view without_quotes(std::string_view value) {
  const bool quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
  return quoted ? value.substr(1, value.size() - 2) : value;
}

bool value_fits(const YamlExpectation& expectation, const YamlItem& item, std::string_view value,
                std::uint64_t late_s) {
  if (item.value == "*") return true;
  if (const auto range = read_range_later(item, late_s)) {
    const auto number = read_number(value);
    return number && *number >= range->low && *number <= range->high;
  }
  const std::string_view got = expectation.literal ? value : without_quotes(value);
  if (is_regex(item.value)) {
    return Pattern(item.value).fits(std::string(got));
  }
  return got == (expectation.literal ? std::string_view(item.value) : without_quotes(item.value));
}

bool is_plain(std::string_view line) {
  return std::all_of(line.begin(), line.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

// Splits the body into lines; the text of the mismatch is empty if it has the form of a report.
YamlMismatch split(std::string_view body, std::vector<Line>& lines) {
  if (!body.starts_with("---\n")) return {0, "the body does not begin with ---\\n"};
  body.remove_prefix(4);
  bool in_list = false;
  while (!body.empty()) {
    const std::size_t end = body.find('\n');
    if (end == std::string_view::npos) return {0, "the last line does not end in \\n"};
    std::string_view line = body.substr(0, end);
    body.remove_prefix(end + 1);
    if (!is_plain(line)) return {0, "not plain ASCII: " + escape(line)};
    if (line.starts_with("- ") && line.size() > 2) {
      lines.push_back({line.substr(0, 1), line.substr(2)});
      continue;
    }
    // The name of a list of groups: `key:` without a value; there is no line between the groups.
    if (line.size() > 1 && line.back() == ':' && line.find(' ') == std::string_view::npos) {
      in_list = true;
      continue;
    }
    if (in_list && line.starts_with("  ")) line.remove_prefix(2);
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos || colon == 0 || colon + 2 == line.size()) {
      return {0, "neither `key: value` nor `- item`: " + escape(line)};
    }
    lines.push_back({line.substr(0, colon), line.substr(colon + 2)});
    if (lines.back().value.find(": ") != std::string_view::npos) {
      return {0, "a value with `: ` inside: " + escape(line)};
    }
  }
  return {};
}

std::string shown(std::string_view key, std::string_view value) {
  return std::string(key) + (key == "-" ? " " : ": ") + escape(value);
}

YamlMismatch differs(const YamlItem& item, const Line& line) {
  return {item.line,
          "expected " + shown(item.key, item.value) + ", got " + shown(line.key, line.value)};
}

YamlMismatch missing(const YamlItem& item) {
  return {item.line, "expected " + shown(item.key, item.value) + ", which is not there (in order)"};
}

YamlMismatch check_in_order(const YamlExpectation& expectation, const std::vector<Line>& lines,
                            std::uint64_t late_s) {
  std::size_t at = 0;
  for (const YamlItem& item : expectation.items) {
    // In a list every key is `-`, so the value is searched, too.
    const auto sought = [&](const Line& line) {
      return line.key == item.key &&
             (item.key != "-" || value_fits(expectation, item, line.value, late_s));
    };
    while (at < lines.size() && !sought(lines[at])) ++at;
    if (at == lines.size()) return missing(item);
    if (!value_fits(expectation, item, lines[at].value, late_s)) return differs(item, lines[at]);
    ++at;
  }
  return {};
}

bool is_own_counter(const Line& line) {
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; };
  return std::all_of(line.key.begin(), line.key.end(), allowed) && line.key != "-" &&
         read_number(line.value).has_value();
}

YamlMismatch check_from_the_start(const YamlExpectation& expectation,
                                  const std::vector<Line>& lines, std::uint64_t late_s) {
  const std::size_t expected = expectation.items.size();
  for (std::size_t i = 0; i < expected; ++i) {
    const YamlItem& item = expectation.items[i];
    if (i == lines.size()) return missing(item);
    const bool fits =
        lines[i].key == item.key && value_fits(expectation, item, lines[i].value, late_s);
    if (!fits) return differs(item, lines[i]);
  }
  for (std::size_t i = expected; i < lines.size(); ++i) {
    const std::string line = shown(lines[i].key, lines[i].value);
    if (expectation.keys == YamlKeys::exactly) return {0, "one line too many: " + line};
    if (!is_own_counter(lines[i])) return {0, "not `lower-case-key: number`: " + line};
  }
  return {};
}

}  // namespace

std::string why_unusable(const YamlItem& item) {
  if (item.key.empty() || item.value.empty()) return "expected `key: value` or `- item`";
  if (const auto range = read_range(item.value); range && range->low > range->high) {
    return "the range is empty";
  }
  if (is_regex(item.value) && !Pattern(item.value).is_valid()) return "bad regex";
  return {};
}

YamlMismatch check_yaml(const YamlExpectation& expectation, std::string_view body,
                        std::uint64_t late_s) {
  std::vector<Line> lines;
  YamlMismatch mismatch = split(body, lines);
  if (!mismatch.text.empty()) return mismatch;
  if (expectation.keys == YamlKeys::some) return check_in_order(expectation, lines, late_s);
  return check_from_the_start(expectation, lines, late_s);
}

}  // namespace haricot::conformance
