// Functions that build the tables of statistics (statistics.hpp). Only the sources with these
// tables include this.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "haricot/service/statistics.hpp"

namespace haricot {

// Functions that make a row of a key, a value, and a meaning. The value is a lambda without a
// capture.
template <typename Facts>
struct Rows {
  using Row = Statistic<Facts>;

  template <typename Value>
  static constexpr Row integer(std::string_view key, Value, std::string_view meaning,
                               typename Row::Condition is_shown = nullptr) {
    return {.key = key,
            .type = StatisticType::integer,
            .number = &number_of<Value>,
            .is_shown = is_shown,
            .meaning = meaning};
  }
  template <typename Value>
  static constexpr Row cpu_time(std::string_view key, Value, std::string_view meaning) {
    return {.key = key,
            .type = StatisticType::cpu_time,
            .number = &number_of<Value>,
            .meaning = meaning};
  }
  template <typename Value>
  static constexpr Row word(std::string_view key, Value, std::string_view meaning,
                            typename Row::Condition is_shown = nullptr) {
    return {.key = key,
            .type = StatisticType::word,
            .word = &word_of<Value>,
            .is_shown = is_shown,
            .meaning = meaning};
  }
  template <typename Value>
  static constexpr Row quoted(std::string_view key, Value, std::string_view meaning,
                              typename Row::Condition is_shown = nullptr) {
    return {.key = key,
            .type = StatisticType::quoted,
            .word = &word_of<Value>,
            .is_shown = is_shown,
            .meaning = meaning};
  }

 private:
  template <typename Value>
  static std::uint64_t number_of(const Facts& facts) {
    return static_cast<std::uint64_t>(Value{}(facts));
  }
  template <typename Value>
  static std::string_view word_of(const Facts& facts) {
    return Value{}(facts);
  }
};

// Meaning of a row that shares the text of the previous row.
constexpr std::string_view kSame{};

// Returns several tables as one.
template <typename Row, std::size_t... kSizes>
constexpr auto joined(const std::array<Row, kSizes>&... parts) {
  std::array<Row, (kSizes + ...)> all{};
  std::size_t size = 0;
  const auto add = [&](const auto& part) {
    for (const Row& row : part) all[size++] = row;
  };
  (add(parts), ...);
  return all;
}

// Returns true if the keys of the rows are unique.
template <typename Row, std::size_t kSize>
constexpr bool has_each_key_once(const std::array<Row, kSize>& rows) {
  for (std::size_t i = 0; i < kSize; ++i) {
    for (std::size_t other = 0; other < i; ++other) {
      if (rows[i].key == rows[other].key) return false;
    }
  }
  return true;
}

}  // namespace haricot
