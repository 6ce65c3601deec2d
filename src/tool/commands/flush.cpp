// haricot flush: deletes the jobs of a tube, at once where the server can.

#include <unistd.h>

#include <limits>
#include <string>

#include "haricot/protocol/tube_name.hpp"
#include "tool/cli/progress.hpp"
#include "tool/client/errand.hpp"
#include "tool/commands/job_round.hpp"
#include "tool/commands/tube_choice.hpp"
#include "tool/commands/tube_clearing.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "flush", "[OPTIONS] TUBE",
    "Deletes the ready, delayed and buried jobs of a tube, or those in one state. Jobs that a\n"
    "worker holds stay, and so do jobs that come later. haricotd deletes them with one command.\n"
    "beanstalkd lacks this command: there, flush deletes one job after the other, and only jobs\n"
    "that it has just peeked. Without --yes, jobs are deleted only if somebody at a terminal\n"
    "says yes.\n",
    "    haricot flush mail --yes\n"
    "    haricot flush mail --state buried\n"};

struct Choice {
  TubeClearing clearing{
      .tube = {}, .places = {true, true, true}, .count = std::numeric_limits<std::uint64_t>::max()};
  std::string state;  // Empty: all three.
  bool yes = false;
  bool quiet = false;
};

bool set_state(Choice& choice, std::string_view value) {
  choice.state = value;
  choice.clearing.places = {value == "ready", value == "delayed", value == "buried"};
  return choice.clearing.places.count() == 1;
}

int run(Errand& errand, const Choice& choice) {
  const TubeClearing& clearing = choice.clearing;
  int status = 0;
  const std::optional<StatsText> stats = use_tube(errand, clearing.tube, status);
  if (!stats) return status;
  if (!choice.yes && !is_confirmed(clearing, *stats)) return errand.no("nothing was deleted");
  JobRound round(errand, "deleted");
  round.quiet(choice.quiet);
  const std::string command =
      "flush-tube " + clearing.tube + (choice.state.empty() ? "" : " " + choice.state);
  Progress progress("deleted", choice.quiet);
  progress.say("deleting");
  const std::optional<Response> flushed = errand.server().ask(command);
  progress.clear();
  if (!flushed) return errand.failed();
  if (flushed->code == ReplyCode::flushed) {
    round.count(flushed->number);
  } else if (flushed->code != ReplyCode::unknown_command) {
    errand.server().refuse("flush-tube", flushed->code, flushed->line);
    return errand.failed();
  } else if (!delete_peeked(errand, clearing, *stats, round)) {
    return round.fail();
  }
  return round.end("");
}

}  // namespace

int flush_tube(Words words) {
  Errand errand(kText);
  Choice choice;
  errand.add({'s', "state", "STATE", "only jobs in this state",
              [&choice](std::string_view value) { return set_state(choice, value); },
              "ready, delayed or buried"});
  errand.add({'y', "yes", "", "do not ask", set(choice.yes)});
  JobRound::add_quiet_flag(errand, choice.quiet);
  if (const std::optional<int> over = errand.read(words)) return *over;
  if (errand.operands().size() != 1) return errand.mistake("it takes one tube");
  choice.clearing.tube = errand.operands().front();
  if (!is_tube_name(choice.clearing.tube)) {
    return errand.mistake("'" + choice.clearing.tube + "' is not a tube's name");
  }
  if (!choice.yes && ::isatty(STDIN_FILENO) == 0) {
    return errand.mistake("without a terminal to ask at, --yes is needed");
  }
  if (const std::optional<int> over = errand.connect()) return *over;
  return run(errand, choice);
}

}  // namespace haricot::tool
