// Parts that subcommands on jobs share: the choice of jobs by id, by tube and state or by a filter,
// the report, reservations, the output of a job, and the deletion of the jobs of a tube.

#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tool/client/errand.hpp"
#include "tool/client/job_filter.hpp"
#include "tool/client/job_move.hpp"

namespace haricot::tool {

// Counts the jobs that a subcommand handles one by one, and reports them.
class JobRound final {
 public:
  // `done` is the participle for the report, such as "deleted".
  JobRound(Errand& errand, std::string_view done, bool is_quiet)
      : errand_(errand), done_(done), is_quiet_(is_quiet) {}

  // Adds the flag --quiet, which suppresses the report of success.
  static void add_quiet_flag(Errand& errand, bool& to);
  bool is_quiet() const { return is_quiet_; }

  // Records the result for a job that was requested by id.
  void add(std::uint64_t id, bool is_done);
  // Adds jobs that were not requested by id.
  void count(std::uint64_t jobs = 1) { count_ += jobs; }
  std::uint64_t counted() const { return count_; }

  // Prints `deleted 3` to stdout, and a line to stderr for each id that was not found, with
  // `or_what` as another possible reason. Returns the exit status: 0 if all ids were found. A tube
  // without jobs is no failure.
  int end(std::string_view or_what);
  // Prints the report after a failure of the server, and returns its exit status.
  int fail();
  // Reports that the tube does not exist, and returns the exit status 0: a tube vanishes with its
  // last job.
  int end_without(const std::string& tube);

  Errand& errand() { return errand_; }

 private:
  void report();

  Errand& errand_;
  std::string_view done_;
  bool is_quiet_;
  std::uint64_t count_ = 0;
  std::vector<std::uint64_t> missing_;
};

// Returns peek-ready, peek-delayed or peek-buried.
std::string peek_command(Place place);
// Returns current-jobs-ready, -delayed or -buried.
std::string count_key(Place place);

// Adds the flags --ready, --delayed and --buried.
void add_place_flags(Errand& errand, PlaceFlags& flags);

// Checks that the operands are either ids, or a tube with --count or --all; a filter requires no
// tube, --count or --all. On a mistake prints a message and returns the exit status.
std::optional<int> check_bound(const Errand& errand, const Subjects& subjects, bool has_count,
                               bool has_all, const JobFilter& filter);

// A change of the jobs that a filter matches.
struct MatchChange {
  static constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

  std::string_view verb;           // For the question, such as "Kick".
  std::string_view done;           // Participle for the report, such as "kicked".
  std::vector<std::string> tubes;  // Empty: all tubes.
  JobStates states = kAllStates;
  std::uint64_t count = kAll;  // Largest number of jobs.
  bool yes = false;            // Skips the confirmation.
  bool quiet = false;
};

// Changes some jobs, and counts them in the round. Returns false if the server failed or a signal
// arrived.
using ChangeMatches = std::function<bool(std::span<const ListedJob> jobs, JobRound& round)>;

// Adds the flag --yes. Requires: `to` outlives the errand's read().
void add_yes_flag(Errand& errand, bool& to);

// Finds the jobs that the filter matches, asks for a confirmation if stdin is a terminal, passes
// the jobs to `act` in groups, and prints the report. Returns the exit status. A job that is
// deleted meanwhile is not counted.
int change_matches(Errand& errand, const JobFilter& filter, const MatchChange& change,
                   const ChangeMatches& act);

// Sends `COMMAND ID` for each job, and counts those that are answered `wanted`. Returns false if
// the server failed.
[[nodiscard]] bool change_each(Errand& errand, const std::string& command, ReplyCode wanted,
                               std::span<const ListedJob> jobs, JobRound& round);

// Uses the tube and returns its statistics. A tube that does not exist is not used, because that
// would create it. If the tube does not exist, or the server failed, prints a message, sets
// `status` and returns nothing.
std::optional<StatsText> use_tube(Errand& errand, const std::string& tube, int& status);
// Like use_tube() above, except that a tube that does not exist is no failure, for commands that
// change its jobs.
std::optional<StatsText> use_tube(JobRound& round, const std::string& tube, int& status);

// The end of a reservation. A reservation ends with its connection, and a run of the tool is one
// connection: a job that the command does not delete, bury or release becomes ready again when the
// command exits.
enum class Fate : std::uint8_t { deleted, buried, released };

struct Ending {
  Fate fate = Fate::released;
  std::optional<std::uint64_t> priority;  // Empty to keep the job's priority.
  std::uint64_t delay_s = 0;              // For Fate::released.
};

enum class Outcome : std::uint8_t {
  done,
  gone,    // No such job can be reserved, or its TTR has ended.
  failed,  // errand.server().failure() has the reason.
};

// Ends a reservation. Requires: this connection has reserved the job.
Outcome end_reservation(Errand& errand, std::uint64_t id, const Ending& ending);

// Reserves a job with the command `reserve`, which must not wait long, and ends the reservation.
Outcome take_and_end(Errand& errand, const std::string& reserve, const Ending& ending);

// Calls take_and_end() for each id, with reserve-job. `done` is the participle for the report.
// Returns the exit status.
int take_and_end_ids(Errand& errand, const std::vector<std::uint64_t>& ids, const Ending& ending,
                     std::string_view done, bool quiet);

// Watches exactly these tubes. Returns false if the server failed.
[[nodiscard]] bool watch_only(Errand& errand, const std::vector<std::string>& tubes);

// Add the flags --priority and --delay.
void add_priority_flag(Errand& errand, Ending& ending);
void add_delay_flag(Errand& errand, Ending& ending);

// Form of a job in the output. By default the body is printed: unchanged, or on a terminal with
// escapes.
struct JobForm {
  bool only_id = false;
  bool raw = false;  // Unchanged, also on a terminal.
};

// Adds the flags --id and --raw.
void add_form_flags(Errand& errand, JobForm& form);

// Prints a job that the server has sent. With --json asks the server for its statistics, and prints
// them with the body. On failure prints a message and returns the exit status.
std::optional<int> print_job(Errand& errand, const Response& job, const JobForm& form);

// The jobs of a tube to delete, for delete and flush.
struct TubeClearing {
  static constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

  std::string tube;
  PlaceFlags places;
  std::uint64_t count = kAll;  // Largest number of jobs to delete.
  bool yes = false;            // Skips the confirmation.
  bool quiet = false;
};

// Adds the flags --yes and --quiet. Requires: `clearing` outlives the errand's read().
void add_clearing_flags(Errand& errand, TubeClearing& clearing);

// Checks that there is --yes or a terminal for the confirmation. Otherwise prints a message and
// returns the exit status. Must be called before connecting.
std::optional<int> check_consent(const Errand& errand, const TubeClearing& clearing);

// Deletes the jobs that exist at the start, prints the result and returns the exit status. Asks at
// the terminal first, unless `yes`. If all jobs of a state go, uses flush-tube if the server has
// it: one command, which also frees their keys. Otherwise deletes jobs one by one after a peek: in
// each state at most as many as there were at the start, so it ends although producers continue.
int clear_tube(Errand& errand, const TubeClearing& clearing);

}  // namespace haricot::tool
