#include "haricot/protocol/command.hpp"

#include <array>
#include <charconv>
#include <limits>

#include "haricot/protocol/limits.hpp"
#include "haricot/protocol/tube_name.hpp"

namespace haricot {
namespace {

// What the parser needs of a command's row.
struct Row {
  std::string_view word;
  Verb verb;
  Arguments arguments;
};
using Rows = std::array<Row, kVerbs>;

// A line is the first row whose word it begins with. So the rows are grouped by their first letter.
// Within a letter they are in the order of kCommandTable, but a longer word stands before the
// shorter one that it begins with. `put` is the first of its letter, as nothing is more common.
constexpr Rows make_rows() {
  Rows rows{};
  std::size_t size = 0;
  for (const CommandRow& command : kCommandTable) {
    std::size_t place = size;
    for (std::size_t i = size; i-- > 0;) {
      if (command.word.starts_with(rows[i].word)) place = i;
    }
    if (place == size) {
      while (place > 0 && rows[place - 1].word[0] > command.word[0]) --place;
    }
    for (std::size_t i = size; i > place; --i) rows[i] = rows[i - 1];
    rows[place] = {command.word, command.verb, command.arguments};
    ++size;
  }
  return rows;
}

constexpr Rows kRows = make_rows();

// The table and what was made of it -------------------------------------------------------------

constexpr bool is_in_order_of_verbs() {
  for (std::size_t i = 0; i < kVerbs; ++i) {
    if (kCommandTable[i].verb != static_cast<Verb>(i)) return false;
  }
  return true;
}
static_assert(is_in_order_of_verbs());

constexpr bool has_counters_in_front() {
  for (std::size_t i = 1; i < kVerbs; ++i) {
    if (kCommandTable[i - 1].counter.empty() && !kCommandTable[i].counter.empty()) return false;
  }
  return true;
}
static_assert(has_counters_in_front(), "a new counter would move the lines of `stats`");

constexpr bool are_counters_named_after_commands() {
  for (const CommandRow& row : kCommandTable) {
    if (row.counter.empty()) continue;
    if (!row.counter.starts_with("cmd-") || row.counter.substr(4) != row.name()) return false;
  }
  return true;
}
static_assert(are_counters_named_after_commands());

constexpr bool are_grouped_by_letter() {
  for (std::size_t i = 1; i < kVerbs; ++i) {
    if (kRows[i - 1].word[0] > kRows[i].word[0]) return false;
  }
  return true;
}
static_assert(are_grouped_by_letter());

constexpr bool can_all_be_reached() {
  for (std::size_t i = 0; i < kVerbs; ++i) {
    for (std::size_t earlier = 0; earlier < i; ++earlier) {
      if (kRows[i].word.starts_with(kRows[earlier].word)) return false;
    }
  }
  return true;
}
static_assert(can_all_be_reached(), "a word hides another one that begins with it");

// The first row for each letter, and one behind the last.
struct Range {
  std::uint8_t begin = 0;
  std::uint8_t end = 0;
};

constexpr std::array<Range, 128> make_ranges() {
  std::array<Range, 128> ranges{};
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    Range& range = ranges[static_cast<unsigned char>(kRows[i].word[0])];
    if (range.end == 0) range.begin = static_cast<std::uint8_t>(i);
    range.end = static_cast<std::uint8_t>(i + 1);
  }
  return ranges;
}

constexpr std::array<Range, 128> kRanges = make_ranges();

const Row* find_row(std::string_view line) {
  if (line.empty() || static_cast<unsigned char>(line[0]) >= kRanges.size()) return nullptr;
  const Range range = kRanges[static_cast<unsigned char>(line[0])];
  for (std::size_t i = range.begin; i < range.end; ++i) {
    if (line.starts_with(kRows[i].word)) return &kRows[i];
  }
  return nullptr;
}

// What is left of a line, and the ways to take something off its front.
class Cursor {
 public:
  explicit Cursor(std::string_view rest) : rest_(rest) {}

  bool at_end() const { return rest_.empty(); }

  // A decimal number: blanks before it are skipped, a sign is not a digit, overflow is an error.
  // std::from_chars took more than twice the instructions for numbers of a few digits.
  template <typename Integer>
  bool number(Integer& value) {
    skip_blanks();
    Integer sum = 0;
    std::size_t digits = 0;
    for (; digits < rest_.size(); ++digits) {
      const auto digit = static_cast<unsigned char>(rest_[digits] - '0');
      if (digit > 9) break;
      if (__builtin_mul_overflow(sum, Integer{10}, &sum)) return false;
      if (__builtin_add_overflow(sum, Integer{digit}, &sum)) return false;
    }
    if (digits == 0) return false;
    value = sum;
    rest_.remove_prefix(digits);
    return true;
  }

  // What stands before the next blank.
  std::string_view word() {
    const std::string_view text = rest_.substr(0, rest_.find(' '));
    rest_.remove_prefix(text.size());
    return text;
  }

  bool tube(std::string_view& name) {
    name = word();
    return is_tube_name(name);
  }

  void skip_blanks() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }

  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

// Compat: the bound of kick is read as strtoul would read it into 64 bits, and its low 32 bits
// count: white space and a sign before it, anything behind it. docs/compatibility.md, "Taken over".
bool read_bound(std::string_view text, std::uint32_t& bound) {
  while (!text.empty() && (text.front() == ' ' || (text.front() >= '\t' && text.front() <= '\r'))) {
    text.remove_prefix(1);
  }
  bool negative = false;
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
    negative = text.front() == '-';
    text.remove_prefix(1);
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return false;
  bound = static_cast<std::uint32_t>(negative ? 0 - value : value);
  return true;
}

bool has_nul(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

// Where anything may stand behind what was read.
ParseResult with_any_tail(const Cursor& cursor) {
  return has_nul(cursor.rest()) ? ParseResult::bad_format : ParseResult::ok;
}

// Compat: beanstalkd counts a put before it looks at what stands behind the last number.
// docs/compatibility.md, "Taken over".
ParseResult read_put(Cursor cursor, Command& command) {
  const bool has_numbers = cursor.number(command.priority) && cursor.number(command.seconds) &&
                           cursor.number(command.ttr_s) && cursor.number(command.body_bytes);
  if (!has_numbers) return ParseResult::bad_format;
  if (cursor.at_end()) return ParseResult::ok;
  return has_nul(cursor.rest()) ? ParseResult::bad_format : ParseResult::late_bad_format;
}

// Compat: beanstalkd counts a pause before it sees that a name is too long or begins with a hyphen.
// Other bytes than those of a name end the name, so that no number is behind it.
// docs/compatibility.md, "Taken over".
ParseResult read_pause(Cursor cursor, Command& command) {
  cursor.skip_blanks();
  command.tube = cursor.word();
  if (!has_only_name_bytes(command.tube) || !cursor.number(command.seconds) || !cursor.at_end()) {
    return ParseResult::bad_format;
  }
  return is_tube_name(command.tube) ? ParseResult::ok : ParseResult::late_bad_format;
}

// Compat: beanstalkd reads the digits of a timeout and does not look behind them. Client libraries
// send fractions, so `1.5` has to be 1. docs/compatibility.md, "Taken over".
ParseResult read_timeout(Cursor cursor, Command& command) {
  if (!cursor.number(command.seconds) || command.seconds > kReserveTimeoutSecondsMax) {
    return ParseResult::bad_format;
  }
  return with_any_tail(cursor);
}

// A line with a NUL is BAD_FORMAT, whatever else is wrong with it. It has to be looked for only
// where anything may stand: no number or name has one.
ParseResult read_arguments(Arguments form, Cursor cursor, Command& command) {
  bool are_good = false;
  switch (form) {
    case Arguments::none:
      are_good = true;
      break;
    case Arguments::ignored:
      return with_any_tail(cursor);
    case Arguments::put:
      return read_put(cursor, command);
    case Arguments::id:
      are_good = cursor.number(command.id);
      break;
    case Arguments::bury:
      are_good = cursor.number(command.id) && cursor.number(command.priority);
      break;
    case Arguments::release:
      are_good = cursor.number(command.id) && cursor.number(command.priority) &&
                 cursor.number(command.seconds);
      break;
    case Arguments::tube:
      are_good = cursor.tube(command.tube);
      break;
    case Arguments::pause:
      return read_pause(cursor, command);
    case Arguments::timeout:
      return read_timeout(cursor, command);
    case Arguments::bound:
      return read_bound(cursor.rest(), command.bound) ? with_any_tail(cursor)
                                                      : ParseResult::bad_format;
  }
  return are_good && cursor.at_end() ? ParseResult::ok : ParseResult::bad_format;
}

}  // namespace

ParseResult parse_command(std::string_view line, Command& command) {
  const Row* row = find_row(line);
  if (row == nullptr) return has_nul(line) ? ParseResult::bad_format : ParseResult::unknown_command;
  command = Command{};
  command.verb = row->verb;
  return read_arguments(row->arguments, Cursor(line.substr(row->word.size())), command);
}

}  // namespace haricot
