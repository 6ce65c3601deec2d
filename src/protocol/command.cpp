#include "haricot/protocol/command.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/base/name_bytes.hpp"
#include "haricot/protocol/command_words.hpp"

namespace haricot {
namespace {

// Checks of the table of commands -----------------------------------------------------------------

constexpr bool has_extended_behind() {
  for (const CommandRow& row : kCommandTable) {
    if (is_extended(row.verb) != (row.set != CommandSet::standard)) return false;
  }
  return true;
}
static_assert(has_extended_behind());

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

constexpr bool are_grouped_by_letter(const command_words::Rows& rows) {
  for (std::size_t i = 1; i < rows.size; ++i) {
    if (rows[i - 1].word[0] > rows[i].word[0]) return false;
  }
  return true;
}
static_assert(are_grouped_by_letter(command_words::kStandardRows));
static_assert(are_grouped_by_letter(command_words::kOperatorRows));

constexpr bool can_all_be_reached(const command_words::Rows& rows) {
  for (std::size_t i = 0; i < rows.size; ++i) {
    for (std::size_t earlier = 0; earlier < i; ++earlier) {
      if (rows[i].word.starts_with(rows[earlier].word)) return false;
    }
  }
  return true;
}
static_assert(can_all_be_reached(command_words::kStandardRows),
              "a word hides another one that begins with it");
static_assert(can_all_be_reached(command_words::kOperatorRows),
              "a word hides another one that begins with it");

constexpr bool takes_anything(Arguments arguments) {
  return arguments == Arguments::ignored || arguments == Arguments::timeout ||
         arguments == Arguments::bound;
}

// A standard command that accepts anything after its word must not begin an extended one.
constexpr bool are_none_taken_for_standard() {
  for (const CommandRow& own : kCommandTable) {
    if (own.set == CommandSet::standard) continue;
    for (const CommandRow& row : kCommandTable) {
      if (row.set != CommandSet::standard || !own.word.starts_with(row.word)) continue;
      if (takes_anything(row.arguments)) return false;
    }
  }
  return true;
}
static_assert(are_none_taken_for_standard());

// The rest of a line, and functions that consume its beginning.
class Cursor {
 public:
  explicit Cursor(std::string_view rest) : rest_(rest) {}

  bool at_end() const { return rest_.empty(); }

  // Reads a decimal number. Skips blanks before it, accepts no sign, and fails on overflow.
  // std::from_chars took more than twice the instructions for numbers of a few digits. Inlined,
  // because a call would slow down each command with an id.
  template <typename Integer>
  [[gnu::always_inline]] bool number(Integer& value) {
    const char* const first = after_blanks();
    const char* const end = rest_.data() + rest_.size();
    const char* at = first;
    Integer sum = 0;
    for (; at != end && digit_of(*at) <= 9; ++at) sum = sum * 10 + digit_of(*at);
    const std::string_view digits(first, at);
    if (digits.empty() || !fits<Integer>(digits)) return false;
    value = sum;
    rest_ = std::string_view(at, end);
    return true;
  }

  // Consumes the text before the next blank.
  std::string_view word() {
    const std::string_view text = rest_.substr(0, rest_.find(' '));
    rest_.remove_prefix(text.size());
    return text;
  }

  bool tube(std::string_view& name) {
    name = word();
    return is_tube_name(name);
  }

  // Consumes the blank before an optional argument. Returns false if there is none.
  bool has_another() {
    if (rest_.size() < 2 || rest_.front() != ' ') return false;
    rest_.remove_prefix(1);
    return true;
  }

  // Consumes the blank before a required argument.
  bool blank() { return has_another(); }

  bool state(StateWord& state) {
    const std::string_view text = word();
    if (text == "ready") state = StateWord::ready;
    if (text == "reserved") state = StateWord::reserved;
    if (text == "delayed") state = StateWord::delayed;
    if (text == "buried") state = StateWord::buried;
    return state != StateWord::none;
  }

  // Reads a number of jobs.
  bool count(std::uint32_t& value) { return number(value) && value >= 1 && value <= kBatchMax; }

  void skip_blanks() {
    rest_.remove_prefix(static_cast<std::size_t>(after_blanks() - rest_.data()));
  }

  std::string_view rest() const { return rest_; }

 private:
  // Returns the first byte that is not a blank, or the end.
  const char* after_blanks() const {
    const char* at = rest_.data();
    const char* const end = at + rest_.size();
    while (at != end && *at == ' ') ++at;
    return at;
  }
  // Returns true if an Integer can hold the number that has these digits.
  template <typename Integer>
  static bool fits(std::string_view digits) {
    constexpr std::size_t kDigitsThatFit = std::numeric_limits<Integer>::digits10;
    if (digits.size() <= kDigitsThatFit) [[likely]]
      return true;
    Integer sum = 0;
    return std::ranges::none_of(digits, [&sum](char digit) {
      return __builtin_mul_overflow(sum, Integer{10}, &sum) ||
             __builtin_add_overflow(sum, Integer{digit_of(digit)}, &sum);
    });
  }
  // Returns more than 9 if the byte is not a digit.
  static std::uint32_t digit_of(char byte) { return static_cast<unsigned char>(byte - '0'); }

  std::string_view rest_;
};

// Compat: the bound of kick is read like strtoul into 64 bits, of which the low 32 count: white
// space and a sign may come before it, and anything after it. docs/compatibility.md, "Taken over".
bool read_as_strtoul(std::string_view text, std::uint32_t& bound) {
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

// Accepts anything after the arguments, except a NUL.
ParseResult with_any_tail(const Cursor& cursor) {
  return has_nul(cursor.rest()) ? ParseResult::bad_format : ParseResult::ok;
}

// Readers of arguments: one for each row of HARICOT_ARGUMENTS. A reader that returns false, or
// leaves something unread, makes the line malformed; a reader that returns a ParseResult decides
// about the whole line. Readers of rare commands are not inlined, so that they do not take
// registers from the common ones.

bool read_none(Cursor&, Command&) {
  return true;
}

ParseResult read_anything(Cursor& cursor, Command&) {
  return with_any_tail(cursor);
}

bool read_id(Cursor& cursor, Command& command) {
  return cursor.number(command.id);
}

bool read_bury(Cursor& cursor, Command& command) {
  return cursor.number(command.id) && cursor.number(command.priority);
}

bool read_release(Cursor& cursor, Command& command) {
  return read_bury(cursor, command) && cursor.number(command.seconds);
}

bool read_tube(Cursor& cursor, Command& command) {
  return cursor.tube(command.tube);
}

ParseResult read_bound(Cursor& cursor, Command& command) {
  if (!read_as_strtoul(cursor.rest(), command.bound)) return ParseResult::bad_format;
  return with_any_tail(cursor);
}

// Compat: beanstalkd counts a put before it checks the text after the last number.
// docs/compatibility.md, "Taken over".
[[gnu::flatten]] ParseResult read_put(Cursor& cursor, Command& command) {
  const bool has_numbers = cursor.number(command.priority) && cursor.number(command.seconds) &&
                           cursor.number(command.ttr_s) && cursor.number(command.body_bytes);
  if (!has_numbers) return ParseResult::bad_format;
  if (cursor.at_end()) return ParseResult::ok;
  command.tags = cursor.rest();  // Or other text: see read_end_of_put().
  return ParseResult::late_bad_format;
}

// Reads [tag ...], each with one blank before it. A put with malformed tags gets the result that it
// has for beanstalkd. A tag has no NUL.
[[gnu::noinline]] ParseResult read_end_of_put(Command& command, CommandSet set) {
  CHECK(command.verb == Verb::put && !command.tags.empty());
  Cursor cursor(std::exchange(command.tags, {}));
  const std::string_view end = cursor.rest();
  if (set != CommandSet::standard && cursor.blank() &&
      read_tags(cursor.rest(), command.read_tags.emplace())) {
    command.tags = cursor.rest();
    return ParseResult::ok;
  }
  command.read_tags.reset();
  return has_nul(end) ? ParseResult::bad_format : ParseResult::late_bad_format;
}

// Compat: beanstalkd counts a pause before it notices that a name is too long or begins with a
// hyphen. A byte that no name can have ends the name, so no number follows it.
// docs/compatibility.md, "Taken over".
ParseResult read_pause(Cursor& cursor, Command& command) {
  cursor.skip_blanks();
  command.tube = cursor.word();
  if (!has_only_name_bytes(command.tube) || !cursor.number(command.seconds) || !cursor.at_end()) {
    return ParseResult::bad_format;
  }
  return is_tube_name(command.tube) ? ParseResult::ok : ParseResult::late_bad_format;
}

// Compat: beanstalkd reads the digits of a timeout and ignores the rest. Client libraries send
// fractions, so `1.5` has to be 1. docs/compatibility.md, "Taken over".
ParseResult read_timeout(Cursor& cursor, Command& command) {
  if (!cursor.number(command.seconds) || command.seconds > kReserveTimeoutSecondsMax) {
    return ParseResult::bad_format;
  }
  return with_any_tail(cursor);
}

// Reads a state other than `reserved`: a reserved job is not in its tube.
bool read_own_state(Cursor& cursor, Command& command) {
  return cursor.state(command.state) && command.state != StateWord::reserved;
}

// <tube> [<state>]
bool read_tube_and_state(Cursor& cursor, Command& command) {
  return cursor.tube(command.tube) && (!cursor.has_another() || read_own_state(cursor, command));
}

// <from-id> <count>
bool read_id_page(Cursor& cursor, Command& command) {
  return cursor.number(command.id) && cursor.count(command.bound);
}

// <from-id> <count> [<tube> [<state>]]
bool read_scan(Cursor& cursor, Command& command) {
  if (!read_id_page(cursor, command)) return false;
  if (!cursor.has_another()) return true;
  if (!cursor.tube(command.tube)) return false;
  return !cursor.has_another() || cursor.state(command.state);
}

// <tube> <state> <count>
bool read_list(Cursor& cursor, Command& command) {
  return cursor.tube(command.tube) && cursor.blank() && cursor.state(command.state) &&
         cursor.count(command.bound);
}

// <count> [<seconds>]
bool read_batch(Cursor& cursor, Command& command) {
  if (!cursor.count(command.bound)) return false;
  if (cursor.at_end()) return true;
  command.has_timeout = true;
  return cursor.number(command.seconds) && command.seconds <= kReserveTimeoutSecondsMax;
}

// <tube> <weight>
bool read_weight(Cursor& cursor, Command& command) {
  return cursor.tube(command.tube) && cursor.number(command.bound) && command.bound >= 1 &&
         command.bound <= kWatchWeightMax;
}

// <mode>
bool read_mode(Cursor& cursor, Command& command) {
  const std::string_view mode = cursor.word();
  command.is_weighted = mode == "weighted";
  return command.is_weighted || mode == "fifo";
}

// <from-name> <count>
bool read_page(Cursor& cursor, Command& command) {
  command.tube = cursor.word();
  return (command.tube == "*" || is_tube_name(command.tube)) && cursor.count(command.bound);
}

// <group>
bool read_group(Cursor& cursor, Command& command) {
  command.tube = cursor.word();
  return is_tag_key(command.tube);
}

// <id> ...
bool read_id_list(Cursor& cursor, Command& command) {
  command.ids = cursor.rest();
  std::uint64_t id = 0;
  for (std::uint32_t ids = 0; ids < kBatchMax; ++ids) {
    if (!cursor.number(id)) return false;
    if (cursor.at_end()) return true;
  }
  return false;
}

// <id> <seconds>
bool read_id_and_seconds(Cursor& cursor, Command& command) {
  return cursor.number(command.id) && cursor.number(command.seconds);
}

// <id> <bytes>
bool read_id_and_bytes(Cursor& cursor, Command& command) {
  return cursor.number(command.id) && cursor.number(command.body_bytes);
}

ParseResult whole_line(const Cursor& cursor, bool are_good) {
  return are_good && cursor.at_end() ? ParseResult::ok : ParseResult::bad_format;
}

ParseResult whole_line(const Cursor&, ParseResult result) {
  return result;
}

// Reads arguments out of line: if readers of rare commands were inlined, they would take registers
// from those of common commands.
template <auto kRead>
[[gnu::noinline]] ParseResult rare(Cursor cursor, Command& command) {
  const auto result = kRead(cursor, command);
  return whole_line(cursor, result);
}

// Returns bad_format for a line with a NUL, whatever else is wrong with it. Only readers that
// accept any tail have to search for one: no number or name has a NUL.
ParseResult read_arguments(Arguments form, Cursor cursor, Command& command) {
  switch (form) {
#define HARICOT_ARGUMENTS(form, text, read)    \
  case Arguments::form: {                      \
    const auto result = read(cursor, command); \
    return whole_line(cursor, result);         \
  }
#include "haricot/protocol/command_rows.inc"
  }
  return ParseResult::bad_format;
}

[[gnu::always_inline]] inline ParseResult parse_row(const command_words::Row& row,
                                                    std::string_view line, Command& command) {
  command.verb = row.verb;
  return read_arguments(row.arguments, Cursor(line.substr(row.word.size())), command);
}

// Constructs the command anew: an assignment would also copy the space for tags, which is most of
// it.
void clear(Command& command) {
  static_assert(std::is_trivially_destructible_v<Command>);
  std::construct_at(&command);
}

// Parses a line that is not a well-formed standard command. Returns false if it is not an extended
// one either.
[[gnu::cold, gnu::noinline]] bool parse_extended(std::string_view line, Command& command,
                                                 CommandSet set, ParseResult& result) {
  CHECK(set != CommandSet::standard && line.size() <= kBatchLineBytesMax);
  const command_words::Row* row =
      command_words::find_row(line, set == CommandSet::operators ? command_words::kOperatorRows
                                                                 : command_words::kExtendedRows);
  if (row == nullptr) return false;
  clear(command);
  result = parse_row(*row, line, command);
  return true;
}

}  // namespace

ParseResult parse_command(std::string_view line, Command& command, CommandSet set) {
  clear(command);
  const command_words::Row* row = command_words::find_row(line, command_words::kStandardRows);
  ParseResult result = ParseResult::unknown_command;
  if (row != nullptr) {
    result = parse_row(*row, line, command);
  } else if (has_nul(line)) {
    result = ParseResult::bad_format;
  }
  if (result == ParseResult::ok) [[likely]]
    return result;
  if (result == ParseResult::late_bad_format && command.verb == Verb::put) {
    return read_end_of_put(command, set);
  }
  if (set == CommandSet::standard) return result;
  ParseResult extended = result;
  return parse_extended(line, command, set, extended) ? extended : result;
}

std::size_t read_ids(std::string_view ids, std::span<std::uint64_t, kBatchMax> to) {
  Cursor cursor(ids);
  std::size_t size = 0;
  while (!cursor.at_end()) {
    CHECK(size < to.size());
    const bool is_number = cursor.number(to[size]);
    CHECK(is_number);
    ++size;
  }
  return size;
}

}  // namespace haricot
