// Finds the command that a line begins with. Holds the words of the command table in search order.
// Used by the parser only.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "haricot/base/little_endian.hpp"
#include "haricot/protocol/command.hpp"

namespace haricot::command_words {

// Columns of a command's row that the search needs. `head` is the first eight bytes of the word as
// a number, and `head_mask` covers the bytes of a shorter word. Only words of more than eight bytes
// need a call to compare.
struct Row {
  std::string_view word;
  std::uint64_t head = 0;
  std::uint64_t head_mask = 0;
  Verb verb;
  Arguments arguments;
};

constexpr Row make_row(const CommandRow& command) {
  Row row{.word = command.word, .verb = command.verb, .arguments = command.arguments};
  for (std::size_t i = 0; i < command.word.size() && i < sizeof row.head; ++i) {
    row.head |= std::uint64_t{static_cast<unsigned char>(command.word[i])} << (8 * i);
    row.head_mask |= std::uint64_t{0xff} << (8 * i);
  }
  return row;
}

// Index of the first row of a letter, and of the row after its last.
struct Range {
  std::uint8_t begin = 0;
  std::uint8_t end = 0;
};

// Rows of one or more sets of commands. `ranges` is indexed by the first letter.
struct Rows {
  std::array<Row, kVerbs> rows{};
  std::size_t size = 0;
  std::array<Range, 128> ranges{};

  constexpr const Row& operator[](std::size_t index) const { return rows[index]; }
};

// Sorts the rows for a search that takes the first row whose word begins the line. Rows are grouped
// by their first letter. Within a letter they are in the order of kCommandTable, except that a word
// comes before each of its prefixes. `put` is the first of its letter, because it is the most
// common.
constexpr Rows make_rows(CommandSet first, CommandSet last) {
  Rows made{};
  for (const CommandRow& command : kCommandTable) {
    if (command.set < first || command.set > last) continue;
    std::size_t index = made.size;
    for (std::size_t i = made.size; i-- > 0;) {
      if (command.word.starts_with(made[i].word)) index = i;
    }
    if (index == made.size) {
      while (index > 0 && made[index - 1].word[0] > command.word[0]) --index;
    }
    for (std::size_t i = made.size; i > index; --i) made.rows[i] = made.rows[i - 1];
    made.rows[index] = make_row(command);
    ++made.size;
  }
  for (std::size_t i = 0; i < made.size; ++i) {
    Range& range = made.ranges[static_cast<unsigned char>(made[i].word[0])];
    if (range.end == 0) range.begin = static_cast<std::uint8_t>(i);
    range.end = static_cast<std::uint8_t>(i + 1);
  }
  return made;
}

// beanstalkd's commands are searched first, and the others only if none matches. So clients that do
// not use the others pay nothing for them.
inline constexpr Rows kStandardRows = make_rows(CommandSet::standard, CommandSet::standard);
inline constexpr Rows kExtendedRows = make_rows(CommandSet::extended, CommandSet::extended);
inline constexpr Rows kOperatorRows = make_rows(CommandSet::extended, CommandSet::operators);

// Minimum length of a word.
inline constexpr std::size_t kWordBytesMin = 4;
static_assert(std::ranges::all_of(kCommandTable, [](const CommandRow& row) {
  return row.word.size() >= kWordBytesMin;
}));

// Returns the first eight bytes of a line as a number; a shorter line is padded with zeros, and
// loaded as two halves that may overlap. Requires: at least kWordBytesMin bytes.
inline std::uint64_t head_of(std::string_view line) {
  if (line.size() >= 8) return load_little_endian<std::uint64_t>(line.data());
  const char* const last = line.data() + line.size() - 4;
  return load_little_endian<std::uint32_t>(line.data()) |
         std::uint64_t{load_little_endian<std::uint32_t>(last)} << (8 * (line.size() - 4));
}

// Returns the first row whose word is a prefix of the line, or null. Inlined, because a call would
// slow down every command.
[[gnu::always_inline]] inline const Row* find_row(std::string_view line, const Rows& rows) {
  if (line.size() < kWordBytesMin) return nullptr;
  const std::uint64_t head = head_of(line);
  const auto letter = static_cast<unsigned char>(head);
  if (letter >= rows.ranges.size()) return nullptr;
  const Range range = rows.ranges[letter];
  const std::span<const Row> in_question(&rows[range.begin], &rows[range.end]);
  for (const Row& row : in_question) {
    if ((head & row.head_mask) != row.head) continue;
    if (row.word.size() <= sizeof head || line.starts_with(row.word)) return &row;
  }
  return nullptr;
}

}  // namespace haricot::command_words
