// A command as a value, how a line becomes one, and the table of all commands.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "haricot/base/job_tags.hpp"

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
  delete_job,  // Its word is `delete`.
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
  capabilities,
  flush_tube,
  scan_jobs,
  list_jobs,
  stats_tube_detail,
  stats_tubes,
  reserve_batch,
  delete_batch,
  watch_by_weight,
  reserve_mode,
  drain,
  undrain,
  flush_buried,
  touch_all,
  reserve_with_abort,
  stats_group,
  wait_job,
  list_clients,
};
inline constexpr std::size_t kVerbs = static_cast<std::size_t>(Verb::list_clients) + 1;

// The commands that a client has. Each set has all of the one before it.
enum class CommandSet : std::uint8_t {
  standard,   // Those of beanstalkd.
  extended,   // And haricot's own.
  operators,  // And those that change what all clients get.
};
inline constexpr std::size_t kCommandSets = 3;

// What follows a command's word.
enum class Arguments : std::uint8_t {
  none,            // Nothing at all; anything is trailing garbage.
  ignored,         // Whatever: quit never gets to look at it.
  put,             // <priority> <delay> <ttr> <bytes>, and tags in the extended set
  id,              // <id>
  bury,            // <id> <priority>
  release,         // <id> <priority> <delay>
  tube,            // <tube>, with no blank before it
  pause,           // <tube> <seconds>
  timeout,         // <seconds>, at most 2^31-1, and anything after its digits
  bound,           // whatever strtoul takes for a number
  tube_and_state,  // <tube> [<state>], and it is not `reserved`
  scan,            // <from-id> <count> [<tube> [<state>]]
  list,            // <tube> <state> <count>, and it is not `reserved`
  batch,           // <count> [<seconds>]
  ids,             // <id> ..., 1000 at most
  weight,          // <tube> <weight>
  mode,            // fifo or weighted
  id_and_seconds,  // <id> <seconds>
  page,            // <from-name> <count>, and * is a name that comes before all
  group,           // <group>
  id_page,         // <from-id> <count>
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
    case Arguments::tube_and_state:
      return " <tube> [<state>]";
    case Arguments::scan:
      return " <from-id> <count> [<tube> [<state>]]";
    case Arguments::list:
      return " <tube> <state> <count>";
    case Arguments::batch:
      return " <count> [<seconds>]";
    case Arguments::ids:
      return " <id> ...";
    case Arguments::weight:
      return " <tube> <weight>";
    case Arguments::mode:
      return " <mode>";
    case Arguments::id_and_seconds:
      return " <id> <seconds>";
    case Arguments::page:
      return " <from-name> <count>";
    case Arguments::group:
      return " <group>";
    case Arguments::id_page:
      return " <from-id> <count>";
  }
  return "";
}

// All that is known of a command beside what it does.
struct CommandRow {
  Verb verb;
  // What its line begins with. A word with a blank at its end does not match without that blank:
  // `put` alone is unknown. A word without one matches with anything after it, which is then for
  // its arguments to judge.
  std::string_view word;
  Arguments arguments;
  std::string_view counter;               // Its key in `stats`; empty: it has none.
  std::string_view help;                  // What it does, in one line.
  CommandSet set = CommandSet::standard;  // The smallest one that has it.

  // The word without a blank.
  constexpr std::string_view name() const {
    return word.ends_with(' ') ? word.substr(0, word.size() - 1) : word;
  }
};

// One row a command: the parser, the counters in `stats`, and the lists of the tests come from
// here. The rows with a counter are in front, in the order in which `stats` shows the counters.
// Monitors read these by line number, so a new command stands after them and has none.
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
    {Verb::delete_job, "delete ", Arguments::id, "cmd-delete", "deletes a job"},
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
    {Verb::capabilities, "capabilities", Arguments::none, "",
     "names the commands and tags beyond those of beanstalkd", CommandSet::extended},
    {Verb::flush_tube, "flush-tube ", Arguments::tube_and_state, "",
     "deletes the jobs of a tube that are not reserved", CommandSet::extended},
    {Verb::scan_jobs, "scan-jobs ", Arguments::scan, "", "shows all jobs, page by page",
     CommandSet::extended},
    {Verb::list_jobs, "list-jobs ", Arguments::list, "",
     "shows the next jobs of a tube, in the order in which they are served", CommandSet::extended},
    {Verb::stats_tube_detail, "stats-tube-detail ", Arguments::tube, "",
     "reports how long the jobs of a tube wait and are worked on", CommandSet::extended},
    {Verb::stats_tubes, "stats-tubes ", Arguments::page, "", "reports on all tubes, page by page",
     CommandSet::extended},
    {Verb::reserve_batch, "reserve-batch ", Arguments::batch, "", "takes several jobs at once",
     CommandSet::extended},
    {Verb::delete_batch, "delete-batch ", Arguments::ids, "", "deletes several jobs at once",
     CommandSet::extended},
    {Verb::watch_by_weight, "watch ", Arguments::weight, "",
     "the same, with the tube's share of the reserves", CommandSet::extended},
    {Verb::reserve_mode, "reserve-mode ", Arguments::mode, "",
     "chooses whether reserves go by priority or by weight", CommandSet::extended},
    {Verb::drain, "drain", Arguments::none, "", "has the server refuse puts",
     CommandSet::operators},
    {Verb::undrain, "undrain", Arguments::none, "", "has it take them again",
     CommandSet::operators},
    {Verb::flush_buried, "flush-buried ", Arguments::tube, "", "deletes the buried jobs of a tube",
     CommandSet::extended},
    {Verb::touch_all, "touch-all", Arguments::none, "",
     "starts the TTRs of all jobs anew that the client holds", CommandSet::extended},
    {Verb::reserve_with_abort, "reserve-with-abort", Arguments::none, "",
     "as reserve, and what the client sends ends the wait", CommandSet::extended},
    {Verb::stats_group, "stats-group ", Arguments::group, "",
     "reports on the jobs of a group, and on those that wait for it", CommandSet::extended},
    {Verb::wait_job, "wait-job ", Arguments::id_and_seconds, "",
     "waits until a job is deleted or buried", CommandSet::extended},
    {Verb::list_clients, "list-clients ", Arguments::id_page, "",
     "shows all connections, page by page", CommandSet::extended},
}};

constexpr const CommandRow& row_of(Verb verb) {
  return kCommandTable[static_cast<std::size_t>(verb)];
}

// Whether beanstalkd does not have the command. These stand after all others.
constexpr bool is_extended(Verb verb) {
  return verb >= Verb::capabilities;
}

// A state as an argument.
enum class StateWord : std::uint8_t { none, ready, reserved, delayed, buried };

// The most jobs that a command of the extended set can ask for, or name.
inline constexpr std::uint32_t kBatchMax = 1000;
// The largest weight of a watch; the smallest is 1.
inline constexpr std::uint32_t kWatchWeightMax = 65535;

// One for all verbs: what a verb has no argument for stays zero.
struct Command {
  Verb verb = Verb::quit;
  StateWord state = StateWord::none;
  bool has_timeout = false;  // Of reserve_batch.
  bool is_weighted = false;  // Of reserve_mode.
  std::uint32_t priority = 0;
  std::uint32_t seconds = 0;  // The delay of put and release, the timeout, the length of a pause.
  std::uint32_t ttr_s = 0;
  std::uint32_t body_bytes = 0;
  std::uint32_t bound = 0;  // Of kick, the count of another command, or a weight.
  std::uint64_t id = 0;
  // Points into the line; a valid name, or empty if there may be none, or * of stats_tubes; of
  // stats_group the name of a group.
  std::string_view tube;
  std::string_view ids;  // Points into the line: for read_ids().
  // Points into the line: good tags (base/job_tags.hpp) of a put that was parsed well, or empty.
  std::string_view tags;
  // What they say; there if and only if there are some.
  std::optional<JobTags> read_tags;
};

enum class ParseResult : std::uint8_t {
  ok,
  bad_format,
  // Malformed, but beanstalkd has counted the command before it notices: a put with something
  // after its last number, a pause with a good number and a name that begins with a hyphen or is
  // too long. The command has its verb, and a put has its numbers.
  late_bad_format,
  unknown_command,
};

// Reads a line without its CR LF. Unless the result says otherwise, the command has a meaning only
// on ok.
//
// Source: the protocol text, and what beanstalkd makes of malformed lines (docs/protocol.md).
ParseResult parse_command(std::string_view line, Command& command,
                          CommandSet set = CommandSet::operators);

// The numbers of Command::ids, in their order. Returns how many there are. Requires: the command
// was parsed well.
std::size_t read_ids(std::string_view ids, std::span<std::uint64_t, kBatchMax> to);

}  // namespace haricot
