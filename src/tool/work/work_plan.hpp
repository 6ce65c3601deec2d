// What `haricot work` was asked to do, and what follows from that for a job.

#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace haricot::tool {

struct StatusRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

struct WorkPlan {
  std::vector<std::string> tubes;
  std::vector<std::string> command;  // A program and its arguments.
  std::uint64_t workers = 1;         // Programs at the same time.
  std::uint64_t tries = 0;           // Reserves after which a job is buried; 0: never.
  std::uint64_t delay_s = 1;         // Of the first release; doubles with each further reserve.
  std::uint64_t delay_max_s = 3600;
  std::uint64_t count = std::numeric_limits<std::uint64_t>::max();  // Jobs to begin at most.
  std::vector<StatusRange> burying;     // Exit statuses of a program that bury its job at once.
  std::uint64_t max_time_ms = 0;        // How long a program may run; 0: as long as it needs.
  std::optional<std::uint64_t> wait_s;  // How long to wait for a job; nothing: for ever.
  bool plain = false;                   // Programs write to our stdout and stderr themselves.
  bool quiet = false;                   // No message about a job that failed.
};

// A job that a worker has reserved.
struct WorkJob {
  std::uint64_t id = 0;
  std::string body;
  std::string tube;
  std::uint64_t priority = 0;
  std::uint64_t ttr_s = 1;
  std::uint64_t reserves = 1;  // This one included.
};

// How long a job is delayed that has failed after so many reserves, of at least 1.
std::uint64_t delay_of_release(const WorkPlan& plan, std::uint64_t reserves);
// Whether a job that has failed after so many reserves is buried, and not released.
bool is_last_try(const WorkPlan& plan, std::uint64_t reserves);
// Statuses and ranges of them from 1 to 255, with commas. Nothing: the list is wrong.
std::optional<std::vector<StatusRange>> read_statuses(std::string_view list);
// Whether a program that has ended with this status is to have its job buried at once.
bool buries_at_once(const WorkPlan& plan, int status);

// Whether the body goes into an argument, in the place of {}, and not to stdin.
bool has_body_mark(const WorkPlan& plan);
// The word with {} that a shell, or another program that runs a text, would run: a body there could
// be any command. Empty: none is found. Looks for the usual ones, behind others (env, timeout) too.
std::string_view word_that_is_run(const WorkPlan& plan);
// The program's words for this body. Nothing: the body cannot be in an argument, because it has a
// NUL byte, or because an argument would be longer than a program can get.
std::optional<std::vector<std::string>> words_for(const WorkPlan& plan, std::string_view body);

// NAME=VALUE: what a program is told of its job.
std::vector<std::string> environment_of(const WorkJob& job);

// Whether execvp() finds a file for the first word of a command: 0; otherwise the exit status that
// says why not, kExitNotFound or kExitNotExecuted.
int look_for_program(const std::string& program, const char* path);

}  // namespace haricot::tool
