// Values in answers to `stats` and similar commands.

#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace haricot::test {

// Returns the text after `key: ` in a report, without quotes; empty if there is none.
inline std::string report_value(std::string_view report, std::string_view key) {
  const std::string start = "\n" + std::string(key) + ": ";
  const std::size_t at = report.find(start);
  if (at == std::string_view::npos) return "";
  const std::size_t begin = at + start.size();
  std::string_view value = report.substr(begin, report.find('\n', begin) - begin);
  if (value.size() > 1 && value.front() == '"' && value.back() == '"') {
    value = value.substr(1, value.size() - 2);
  }
  return std::string(value);
}

// Returns the number after `key: `. The test fails if there is none.
inline std::uint64_t report_number(std::string_view report, std::string_view key) {
  const std::string value = report_value(report, key);
  EXPECT_FALSE(value.empty()) << "no " << key << " in " << report;
  return std::strtoull(value.c_str(), nullptr, 10);
}

}  // namespace haricot::test
