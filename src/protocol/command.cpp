#include "haricot/protocol/command.hpp"

#include <array>
#include <charconv>
#include <limits>

#include "haricot/protocol/limits.hpp"
#include "haricot/protocol/tube_name.hpp"

namespace haricot {
namespace {

// What follows a command's word.
enum class Arguments : std::uint8_t {
  none,     // Nothing at all; anything is trailing garbage.
  ignored,  // Whatever: quit never gets to look at it.
  put,      // <priority> <delay> <ttr> <bytes>
  id,       // <id>
  bury,     // <id> <priority>
  release,  // <id> <priority> <delay>
  tube,     // <tube>, with no blank before it
  pause,    // <tube> <seconds>
  timeout,  // <seconds>, at most 2^31-1, and anything behind its digits
  bound,    // whatever strtoul takes for a number
};

// A line is the first row whose word it begins with. Hence the order: a longer word stands before
// the shorter one that it begins with. Hence also that a word without a blank at its end (those
// that take no argument, and pause-tube) matches with anything behind it, which is then BAD_FORMAT,
// while `put` alone does not match `put ` and is unknown.
struct Row {
  std::string_view word;
  Verb verb;
  Arguments arguments;
};

constexpr Row kRows[] = {
    {"bury ", Verb::bury, Arguments::bury},
    {"delete ", Verb::remove, Arguments::id},
    {"ignore ", Verb::ignore, Arguments::tube},
    {"kick-job ", Verb::kick_job, Arguments::id},
    {"kick ", Verb::kick, Arguments::bound},
    {"list-tube-used", Verb::list_tube_used, Arguments::none},
    {"list-tubes-watched", Verb::list_tubes_watched, Arguments::none},
    {"list-tubes", Verb::list_tubes, Arguments::none},
    {"put ", Verb::put, Arguments::put},  // Tried first, as nothing is more common.
    {"pause-tube", Verb::pause_tube, Arguments::pause},
    {"peek-buried", Verb::peek_buried, Arguments::none},
    {"peek-delayed", Verb::peek_delayed, Arguments::none},
    {"peek-ready", Verb::peek_ready, Arguments::none},
    {"peek ", Verb::peek, Arguments::id},
    {"quit", Verb::quit, Arguments::ignored},
    {"release ", Verb::release, Arguments::release},
    {"reserve-with-timeout ", Verb::reserve_with_timeout, Arguments::timeout},
    {"reserve-job ", Verb::reserve_job, Arguments::id},
    {"reserve", Verb::reserve, Arguments::none},
    {"stats-job ", Verb::stats_job, Arguments::id},
    {"stats-tube ", Verb::stats_tube, Arguments::tube},
    {"stats", Verb::stats, Arguments::none},
    {"touch ", Verb::touch, Arguments::id},
    {"use ", Verb::use, Arguments::tube},
    {"watch ", Verb::watch, Arguments::tube},
};
static_assert(std::size(kRows) == kVerbs);

// The first row for each letter, and one behind the last: rows are grouped by letter.
struct Range {
  std::uint8_t begin = 0;
  std::uint8_t end = 0;
};

constexpr std::array<Range, 128> make_ranges() {
  std::array<Range, 128> ranges{};
  for (std::size_t i = 0; i < std::size(kRows); ++i) {
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
