// The options of `haricot work`, and the rules for a job that follow from them.

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
  std::vector<std::string> command;  // The program and its arguments.
  std::uint64_t workers = 1;         // Number of programs at the same time.
  std::uint64_t tries = 0;           // Reserves after which a job is buried; 0 for never.
  std::uint64_t delay_s = 1;  // Delay of the first release; doubles with each further reserve.
  std::uint64_t delay_max_s = 3600;
  std::uint64_t count = std::numeric_limits<std::uint64_t>::max();  // Largest number of jobs to
                                                                    // begin.
  std::vector<StatusRange> burying;     // Exit statuses of the program that bury its job at once.
  std::uint64_t max_time_ms = 0;        // Time limit of a program; 0 for none.
  std::optional<std::uint64_t> wait_s;  // Time to wait for a job; empty for no limit.
  bool plain = false;                   // Programs write to our stdout and stderr directly.
  bool quiet = false;                   // No messages about failed jobs.
};

// A job that a worker has reserved.
struct WorkJob {
  std::uint64_t id = 0;
  std::string body;
  std::string tube;
  std::uint64_t priority = 0;
  std::uint64_t ttr_s = 1;
  std::uint64_t reserves = 1;  // Includes the current one.
};

// Returns the delay of a job that has failed in its `reserves`th reserve. Requires: reserves >= 1.
std::uint64_t delay_of_release(const WorkPlan& plan, std::uint64_t reserves);
// Returns true if a job that has failed in its `reserves`th reserve is buried instead of released.
bool is_last_try(const WorkPlan& plan, std::uint64_t reserves);
// Reads comma-separated statuses and ranges from 1 to 255. Returns nothing if the list is invalid.
std::optional<std::vector<StatusRange>> read_statuses(std::string_view list);
// Returns true if a job is buried at once when its program ends with this status.
bool buries_at_once(const WorkPlan& plan, int status);

// Returns true if the body replaces {} in an argument. Otherwise it goes to stdin.
bool has_body_mark(const WorkPlan& plan);
// Returns the first word with {} that a shell, or another program that executes a text, would
// execute: a body in it could be any command. Returns an empty text if none is found. Knows the
// usual programs, also after others such as env and timeout.
std::string_view executed_word(const WorkPlan& plan);
// Returns the program's words for this body. Returns nothing if the body contains a NUL byte, or
// makes an argument too long for the system.
std::optional<std::vector<std::string>> words_for(const WorkPlan& plan, std::string_view body);

// Returns the NAME=VALUE settings that describe the job to the program.
std::vector<std::string> environment_of(const WorkJob& job);

// Returns 0 if execvp() would find the program in `path`; otherwise kExitNotFound or
// kExitNotExecuted.
int check_program(const std::string& program, const char* path);

}  // namespace haricot::tool
