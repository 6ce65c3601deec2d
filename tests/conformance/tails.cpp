#include "tails.hpp"

#include <cstddef>
#include <string_view>

namespace haricot::conformance {
namespace {

// In the notation of scripts.
struct Tail {
  std::string_view text;
  bool is_of_a_name = false;  // It extends a tube's name.
};

constexpr Tail kTails[] = {
    {"\\x20"},   {"\\t"}, {"x", true}, {","},   {".5", true},
    {"-", true}, {" 1"},  {" x"},      {"\\n"}, {"\\xff"},
};
// Malformed everywhere, and never counted.
constexpr std::string_view kNul = "\\0";

enum class Rule {
  refused,       // BAD_FORMAT
  counted,       // BAD_FORMAT, but the command is counted
  taken,         // As without the tail.
  part_of_name,  // As without the tail if it may be part of a name, else BAD_FORMAT.
  closes,        // The connection is closed.
};

struct Row {
  std::string_view name;
  std::string_view setup;  // Lines of a script.
  std::string_view line;
  Rule rule;
  std::string_view answer;   // Lines of a script; `%` is the tail.
  std::string_view counter;  // Its key in `stats`; empty: none.
};

constexpr std::string_view kPut = "A> put 0 0 60 1\\r\\nj\nA< INSERTED 1\n";
constexpr std::string_view kPutDelayed = "A> put 0 100 60 1\\r\\nj\nA< INSERTED 1\n";
constexpr std::string_view kReserved =
    "A> put 0 0 60 1\\r\\nj\nA< INSERTED 1\nA> reserve\nA< RESERVED 1 1\nA< j\n";
constexpr std::string_view kBuried =
    "A> put 0 0 60 1\\r\\nj\nA< INSERTED 1\nA> reserve\nA< RESERVED 1 1\nA< j\n"
    "A> bury 1 0\nA< BURIED\n";

// beanstalkd does not have the command.
constexpr std::string_view kExtended = "only haricot\nflags --allow-drain\n";
constexpr std::string_view kPutExtended = "only haricot\nA> put 0 0 60 1\\r\\nj\nA< INSERTED 1\n";

constexpr Row kRows[] = {
    {"put", "", "put 0 0 60 1", Rule::counted, "A> j\nA< INSERTED 1\n", "cmd-put"},
    {"put_too_big", "flags -z 2\n", "put 0 0 60 3", Rule::taken, "A> abc\nA< JOB_TOO_BIG\n",
     "cmd-put"},
    {"put_with_a_key", kExtended, "put 0 0 60 1 con:k:1", Rule::counted, "A> j\nA< INSERTED 1\n",
     "cmd-put"},
    {"put_with_a_tag", kExtended, "put 0 0 60 1 try:1", Rule::counted, "A> j\nA< INSERTED 1\n",
     "cmd-put"},
    {"use", "", "use a", Rule::part_of_name, "A< USING a%\n", "cmd-use"},
    {"reserve", kPut, "reserve", Rule::refused, "A< RESERVED 1 1\nA< j\n", "cmd-reserve"},
    {"reserve_with_timeout", "", "reserve-with-timeout 0", Rule::taken, "A< TIMED_OUT\n",
     "cmd-reserve-with-timeout"},
    {"reserve_with_timeout_and_job", kPut, "reserve-with-timeout 9", Rule::taken,
     "A< RESERVED 1 1\nA< j\nA> release 1 0 0\nA< RELEASED\n", "cmd-reserve-with-timeout"},
    {"reserve_job", kPut, "reserve-job 1", Rule::refused, "A< RESERVED 1 1\nA< j\n", ""},
    {"delete", kPut, "delete 1", Rule::refused, "A< DELETED\n", "cmd-delete"},
    {"release", kReserved, "release 1 0 0", Rule::refused, "A< RELEASED\n", "cmd-release"},
    {"bury", kReserved, "bury 1 0", Rule::refused, "A< BURIED\n", "cmd-bury"},
    {"touch", kReserved, "touch 1", Rule::refused, "A< TOUCHED\n", "cmd-touch"},
    // A second number is a weight, which beanstalkd does not have.
    {"watch", "@haricot flags --no-extensions\n", "watch a", Rule::part_of_name,
     "A< WATCHING 2\nA> ignore a%\nA< WATCHING 1\n", "cmd-watch"},
    {"ignore", "", "ignore a", Rule::part_of_name, "A< WATCHING 1\n", "cmd-ignore"},
    {"peek", kPut, "peek 1", Rule::refused, "A< FOUND 1 1\nA< j\n", "cmd-peek"},
    {"peek_ready", kPut, "peek-ready", Rule::refused, "A< FOUND 1 1\nA< j\n", "cmd-peek-ready"},
    {"peek_delayed", kPutDelayed, "peek-delayed", Rule::refused, "A< FOUND 1 1\nA< j\n",
     "cmd-peek-delayed"},
    {"peek_buried", kBuried, "peek-buried", Rule::refused, "A< FOUND 1 1\nA< j\n",
     "cmd-peek-buried"},
    {"kick", "", "kick 1", Rule::taken, "A< KICKED 0\n", "cmd-kick"},
    {"kick_job", kBuried, "kick-job 1", Rule::refused, "A< KICKED\n", ""},
    {"stats", "", "stats", Rule::refused, "A< OK yaml\n  cmd-stats: 1\n", ""},
    {"stats_job", kPut, "stats-job 1", Rule::refused, "A< OK yaml\n  id: 1\n", "cmd-stats-job"},
    {"stats_tube", "", "stats-tube a", Rule::part_of_name, "A< NOT_FOUND\n", "cmd-stats-tube"},
    {"list_tubes", "", "list-tubes", Rule::refused, "A< OK yaml\n  - default\n", "cmd-list-tubes"},
    {"list_tube_used", "", "list-tube-used", Rule::refused, "A< USING default\n",
     "cmd-list-tube-used"},
    {"list_tubes_watched", "", "list-tubes-watched", Rule::refused, "A< OK yaml\n  - default\n",
     "cmd-list-tubes-watched"},
    {"pause_tube", "", "pause-tube default 0", Rule::refused, "A< PAUSED\n", "cmd-pause-tube"},
    {"pause_tube_with_a_bad_name", "", "pause-tube -a 0", Rule::refused, "A< BAD_FORMAT\n",
     "cmd-pause-tube"},
    {"pause_tube_with_a_long_name", "", "pause-tube ${n*201} 0", Rule::refused, "A< BAD_FORMAT\n",
     "cmd-pause-tube"},
    {"quit", "", "quit", Rule::closes, "", ""},
    {"capabilities", kExtended, "capabilities", Rule::refused, "A< OK yaml\n  - drain\n", ""},
    {"flush_tube", kExtended, "flush-tube a", Rule::part_of_name, "A< FLUSHED 0\n", ""},
    {"flush_tube_and_state", kExtended, "flush-tube default ready", Rule::refused, "A< FLUSHED 0\n",
     ""},
    {"scan_jobs", kExtended, "scan-jobs 1 1 a ready", Rule::refused,
     "A< OK yaml exactly\n  next: 0\n  jobs: []\n", ""},
    {"list_jobs", kExtended, "list-jobs default ready 1", Rule::refused,
     "A< OK yaml exactly\n  jobs: []\n", ""},
    {"stats_tube_detail", kExtended, "stats-tube-detail a", Rule::part_of_name, "A< NOT_FOUND\n",
     ""},
    {"stats_tubes", kExtended, "stats-tubes * 1", Rule::refused,
     "A< OK yaml\n  next: *\n  - name: \"default\"\n", ""},
    {"reserve_batch", kExtended, "reserve-batch 1 0", Rule::refused, "A< RESERVED_BATCH 0\n", ""},
    // With the maximum number of ids.
    {"delete_batch", kExtended, "delete-batch ${1 *999}1", Rule::refused,
     "A< DELETED_BATCH 0 1000\n", ""},
    {"watch_by_weight", kExtended, "watch default 3", Rule::refused, "A< WATCHING 1\n",
     "cmd-watch"},
    {"reserve_mode", kExtended, "reserve-mode weighted", Rule::refused, "A< USING weighted\n", ""},
    {"drain", kExtended, "drain", Rule::refused, "A< DRAINING\n", ""},
    {"undrain", kExtended, "undrain", Rule::refused, "A< NOT_DRAINING\n", ""},
    {"flush_buried", kExtended, "flush-buried a", Rule::part_of_name, "A< FLUSHED 0\n", ""},
    {"touch_all", kExtended, "touch-all", Rule::refused, "A< TOUCHED_ALL 0\n", ""},
    {"reserve_with_abort", kPutExtended, "reserve-with-abort", Rule::refused,
     "A< RESERVED 1 1\nA< j\n", ""},
    {"stats_group", kExtended, "stats-group a", Rule::part_of_name, "A< NOT_FOUND\n", ""},
    {"wait_job", kExtended, "wait-job 1 9", Rule::refused, "A< NOT_FOUND\n", ""},
    {"list_clients", kExtended, "list-clients 1 1", Rule::refused,
     "A< OK yaml\n  next: 0\n  - id: 1\n", ""},
    {"note", kPutExtended, "note 1 3", Rule::refused, "A> abc\nA< NOTED\n", ""},
    {"peek_note", kPutExtended, "peek-note 1", Rule::refused, "A< NOT_FOUND\n", ""},
};

std::string replaced(std::string_view text, std::string_view tail) {
  std::string result;
  for (const char c : text) {
    if (c == '%') {
      result += tail;
    } else {
      result += c;
    }
  }
  return result;
}

bool is_refused(const Row& row, const Tail& tail) {
  return row.rule == Rule::refused || row.rule == Rule::counted ||
         (row.rule == Rule::part_of_name && !tail.is_of_a_name);
}

// Each on a connection of its own.
void add_closing_lines(const Row& row, std::string& text) {
  int number = 0;
  for (const Tail& tail : kTails) {
    const std::string client = "Q" + std::to_string(++number);
    text += client + "> " + std::string(row.line) + std::string(tail.text) + "\n";
    text += client + "<eof\n";
  }
}

std::string script_of(const Row& row) {
  std::string text = "# What stands behind a command's last argument.\n";
  text += row.setup;
  const std::string sent = "A> " + std::string(row.line);
  const std::string refused = "A< BAD_FORMAT\n";
  text += sent + std::string(kNul) + "\n" + refused;
  if (row.rule == Rule::closes) {
    add_closing_lines(row, text);
    return text;
  }
  int counted = 1;  // The last line has no tail: it shows that nothing has changed.
  for (const Tail& tail : kTails) {
    text += sent + std::string(tail.text) + "\n";
    text += is_refused(row, tail) ? refused : replaced(row.answer, tail.text);
    if (!is_refused(row, tail) || row.rule == Rule::counted) ++counted;
  }
  text += sent + "\n" + replaced(row.answer, "");
  if (row.counter.empty()) return text;
  return text + "A> stats\nA< OK yaml\n  " + std::string(row.counter) + ": " +
         std::to_string(counted) + "\n";
}

}  // namespace

std::vector<TailScript> tail_scripts() {
  std::vector<TailScript> scripts;
  for (const Row& row : kRows) scripts.push_back({std::string(row.name), script_of(row)});
  return scripts;
}

std::vector<std::string> lines_with_tails() {
  std::vector<std::string> lines;
  for (const Row& row : kRows) lines.emplace_back(row.line);
  return lines;
}

}  // namespace haricot::conformance
