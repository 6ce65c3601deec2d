// A command as a value, the parser of command lines, and the table of all commands.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "haricot/base/job_tags.hpp"

namespace haricot {

// Sizes that the protocol fixes.
inline constexpr std::size_t kLineBytesMax = 224;  // A command line with its CR LF.
// A line of delete-batch with its CR LF.
inline constexpr std::size_t kBatchLineBytesMax = 24 * 1024;
inline constexpr std::size_t kTrailerBytes = 2;  // The CR LF after a body.
inline constexpr std::uint32_t kJobBytesMaxDefault = 65535;
inline constexpr std::uint32_t kNoteBytesMax = 1024;
inline constexpr std::uint32_t kJobBytesMaxLimit = 1U << 30;  // Maximum of -z.
inline constexpr std::uint32_t kReserveTimeoutSecondsMax = 2147483647;

// Names of all commands, in the order of their rows. `delete_job` has the word `delete`.
enum class Verb : std::uint8_t {
#define HARICOT_COMMAND(verb, ...) verb,
#include "haricot/protocol/command_rows.inc"
};
inline constexpr std::size_t kVerbs =
    std::initializer_list<Verb>{
#define HARICOT_COMMAND(verb, ...) Verb::verb,
#include "haricot/protocol/command_rows.inc"
    }
        .size();

// Commands available to a client. Each set includes the one before it.
enum class CommandSet : std::uint8_t {
  standard,   // beanstalkd's commands.
  extended,   // Commands of haricot only.
  operators,  // Commands that affect all clients.
};
inline constexpr std::size_t kCommandSets = 3;

// Forms of the arguments that follow a command's word.
enum class Arguments : std::uint8_t {
#define HARICOT_ARGUMENTS(form, ...) form,
#include "haricot/protocol/command_rows.inc"
};

// Returns the notation of the arguments in the documents, with a leading blank; empty if there are
// none.
constexpr std::string_view names_of(Arguments arguments) {
  switch (arguments) {
#define HARICOT_ARGUMENTS(form, text, read) \
  case Arguments::form:                     \
    return text;
#include "haricot/protocol/command_rows.inc"
  }
  return "";
}

// How a command is answered.
enum class Answer : std::uint8_t {
  at_once,
  page,               // At once, with up to 1 MiB.
  may_wait,           // At once, or by a later delivery.
  tubes_in_pieces,    // At once, or a list of all tubes that is sent over many turns.
  watched_in_pieces,  // At once, or a list of the watched tubes, sent over many turns.
  by_session,         // The session runs the command: it has a body, or no answer (quit).
};

// Columns of a command's row that this layer uses.
struct CommandRow {
  Verb verb;
  std::string_view word;
  Arguments arguments;
  std::string_view counter;
  CommandSet set;
  Answer answer;
  std::string_view help;

  // Returns the word without a trailing blank.
  constexpr std::string_view name() const {
    return word.ends_with(' ') ? word.substr(0, word.size() - 1) : word;
  }
};

inline constexpr std::array<CommandRow, kVerbs> kCommandTable = {{
#define HARICOT_COMMAND(verb, word, arguments, counter, set, price, answer, help) \
  {Verb::verb, word, Arguments::arguments, counter, CommandSet::set, Answer::answer, help},
#include "haricot/protocol/command_rows.inc"
}};

constexpr const CommandRow& row_of(Verb verb) {
  return kCommandTable[static_cast<std::size_t>(verb)];
}

// Returns true if beanstalkd does not have the command. These rows come after all others.
constexpr bool is_extended(Verb verb) {
  return verb >= Verb::capabilities;
}

// A state as an argument.
enum class StateWord : std::uint8_t { none, ready, reserved, delayed, buried };

// Maximum number of jobs that a command of the extended set can request or name.
inline constexpr std::uint32_t kBatchMax = 1000;
// Maximum weight of a watch; the minimum is 1.
inline constexpr std::uint32_t kWatchWeightMax = 65535;

// Arguments of all verbs. A field that the verb does not use is zero.
struct Command {
  Verb verb = Verb::quit;
  StateWord state = StateWord::none;
  bool has_timeout = false;  // reserve_batch only.
  bool is_weighted = false;  // reserve_mode only.
  std::uint32_t priority = 0;
  std::uint32_t seconds = 0;  // Delay of put and release, timeout, or length of a pause.
  std::uint32_t ttr_s = 0;
  std::uint32_t body_bytes = 0;
  std::uint32_t bound = 0;  // Bound of kick, count of other commands, or weight.
  std::uint64_t id = 0;
  // A valid name that points into the line; empty if the argument is missing. For stats_tubes it
  // may be *, and for stats_group it is the name of a group.
  std::string_view tube;
  std::string_view ids;  // Points into the line; see read_ids().
  // Points into the line: valid tags (base/job_tags.hpp) of a well-formed put, or empty.
  std::string_view tags;
  // The parsed tags; present if and only if `tags` is not empty.
  std::optional<JobTags> read_tags;
};

enum class ParseResult : std::uint8_t {
  ok,
  bad_format,
  // Malformed, but beanstalkd counts the command before it notices: a put with trailing bytes after
  // its last number, or a pause with a valid number and a name that begins with a hyphen or is too
  // long. The verb of the command is valid, and so are the numbers of a put.
  late_bad_format,
  unknown_command,
};

// Parses a line without its CR LF. Except as described above, the command is valid only if the
// result is ok.
//
// Source: the protocol text, and beanstalkd's treatment of malformed lines (docs/protocol.md).
ParseResult parse_command(std::string_view line, Command& command,
                          CommandSet set = CommandSet::operators);

// Reads the numbers of Command::ids in their order, and returns how many there are. Requires: the
// command was parsed as ok.
std::size_t read_ids(std::string_view ids, std::span<std::uint64_t, kBatchMax> to);

}  // namespace haricot
