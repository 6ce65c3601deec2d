// A command as a value, and how a line becomes one.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace haricot {

// In the order of their counters in the answer to `stats`; those behind pause_tube have none.
enum class Verb : std::uint8_t {
  put,
  peek,
  peek_ready,
  peek_delayed,
  peek_buried,
  reserve,
  reserve_with_timeout,
  remove,  // `delete`, which C++ keeps for itself.
  release,
  use,
  watch,
  ignore,
  bury,
  kick,
  touch,
  stats,
  stats_job,
  stats_tube,
  list_tubes,
  list_tube_used,
  list_tubes_watched,
  pause_tube,
  kick_job,
  reserve_job,
  quit,
};
inline constexpr std::size_t kVerbs = static_cast<std::size_t>(Verb::quit) + 1;

// One for all verbs: what a verb has no argument for stays zero.
struct Command {
  Verb verb = Verb::quit;
  std::uint32_t priority = 0;
  std::uint32_t seconds = 0;  // The delay of put and release, the timeout, the length of a pause.
  std::uint32_t ttr_s = 0;
  std::uint32_t body_bytes = 0;
  std::uint32_t bound = 0;
  std::uint64_t id = 0;
  std::string_view tube;  // Points into the line; a valid name.
};

enum class ParseResult : std::uint8_t {
  ok,
  bad_format,
  // Malformed, but beanstalkd has counted the command before it notices: a put with something
  // behind its last number, a pause with a good number and a name that begins with a hyphen or is
  // too long. The command has its verb, and a put has its numbers.
  late_bad_format,
  unknown_command,
};

// Reads a line without its CR LF. Unless the result says otherwise, the command has a meaning only
// on ok.
//
// Source: the protocol text, and what beanstalkd makes of malformed lines (docs/protocol.md).
ParseResult parse_command(std::string_view line, Command& command);

}  // namespace haricot
