// A command as a value, how a line becomes one, and the table of all commands.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace haricot {

// In the order of kCommandTable.
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

// How the documents write these arguments, with a blank in front; empty where there are none.
constexpr std::string_view names_of(Arguments arguments) {
  switch (arguments) {
    case Arguments::none:
    case Arguments::ignored:
      break;
    case Arguments::put:
      return " <priority> <delay> <ttr> <bytes>";
    case Arguments::id:
      return " <id>";
    case Arguments::bury:
      return " <id> <priority>";
    case Arguments::release:
      return " <id> <priority> <delay>";
    case Arguments::tube:
      return " <tube>";
    case Arguments::pause:
      return " <tube> <seconds>";
    case Arguments::timeout:
      return " <seconds>";
    case Arguments::bound:
      return " <bound>";
  }
  return "";
}

// All that is known of a command beside what it does.
struct CommandRow {
  Verb verb;
  // What its line begins with. A word with a blank at its end does not match without that blank:
  // `put` alone is unknown. A word without one matches with anything behind it, which is then for
  // its arguments to judge.
  std::string_view word;
  Arguments arguments;
  std::string_view counter;  // Its key in `stats`; empty: it has none.
  std::string_view help;     // What it does, in one line.

  // The word without a blank.
  constexpr std::string_view name() const {
    return word.ends_with(' ') ? word.substr(0, word.size() - 1) : word;
  }
};

// One row a command: the parser, the counters in `stats`, and the lists of the tests come from
// here. The rows with a counter are in front, in the order in which `stats` shows the counters.
// Monitors read these by line number, so a new command stands behind them and has none.
inline constexpr std::array<CommandRow, kVerbs> kCommandTable = {{
    {Verb::put, "put ", Arguments::put, "cmd-put", "adds a job to the used tube"},
    {Verb::peek, "peek ", Arguments::id, "cmd-peek", "shows a job"},
    {Verb::peek_ready, "peek-ready", Arguments::none, "cmd-peek-ready",
     "shows the next ready job of the used tube"},
    {Verb::peek_delayed, "peek-delayed", Arguments::none, "cmd-peek-delayed",
     "shows the delayed job of the used tube that is due first"},
    {Verb::peek_buried, "peek-buried", Arguments::none, "cmd-peek-buried",
     "shows the job of the used tube that was buried first"},
    {Verb::reserve, "reserve", Arguments::none, "cmd-reserve",
     "takes a job of the watched tubes, or waits for one"},
    {Verb::reserve_with_timeout, "reserve-with-timeout ", Arguments::timeout,
     "cmd-reserve-with-timeout", "the same, and waits no longer than the timeout"},
    {Verb::remove, "delete ", Arguments::id, "cmd-delete", "deletes a job"},
    {Verb::release, "release ", Arguments::release, "cmd-release", "gives a reserved job back"},
    {Verb::use, "use ", Arguments::tube, "cmd-use", "chooses the tube for puts, peeks and kicks"},
    {Verb::watch, "watch ", Arguments::tube, "cmd-watch",
     "adds a tube to those that jobs are reserved from"},
    {Verb::ignore, "ignore ", Arguments::tube, "cmd-ignore",
     "takes a tube out of the watched ones"},
    {Verb::bury, "bury ", Arguments::bury, "cmd-bury",
     "puts a reserved job aside until it is kicked"},
    {Verb::kick, "kick ", Arguments::bound, "cmd-kick",
     "makes buried jobs of the used tube ready, or delayed ones"},
    {Verb::touch, "touch ", Arguments::id, "cmd-touch", "starts the TTR of a reserved job anew"},
    {Verb::stats, "stats", Arguments::none, "cmd-stats", "reports on the server"},
    {Verb::stats_job, "stats-job ", Arguments::id, "cmd-stats-job", "reports on a job"},
    {Verb::stats_tube, "stats-tube ", Arguments::tube, "cmd-stats-tube", "reports on a tube"},
    {Verb::list_tubes, "list-tubes", Arguments::none, "cmd-list-tubes", "names all tubes"},
    {Verb::list_tube_used, "list-tube-used", Arguments::none, "cmd-list-tube-used",
     "names the used tube"},
    {Verb::list_tubes_watched, "list-tubes-watched", Arguments::none, "cmd-list-tubes-watched",
     "names the watched tubes"},
    {Verb::pause_tube, "pause-tube", Arguments::pause, "cmd-pause-tube",
     "stops reserves from a tube for some time"},
    {Verb::kick_job, "kick-job ", Arguments::id, "", "makes a buried or delayed job ready"},
    {Verb::reserve_job, "reserve-job ", Arguments::id, "", "takes a job by its id"},
    {Verb::quit, "quit", Arguments::ignored, "", "closes the connection"},
}};

constexpr const CommandRow& row_of(Verb verb) {
  return kCommandTable[static_cast<std::size_t>(verb)];
}

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
