// A run of `haricot work`: the state that its workers share, and its log.

#pragma once

#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/check.hpp"
#include "haricot/base/time.hpp"
#include "os/descriptor.hpp"
#include "tool/client/address.hpp"
#include "tool/work/program.hpp"
#include "tool/work/work_plan.hpp"

namespace haricot::tool {

// A line of the log.
struct JobRun {
  std::uint64_t id = 0;
  std::string tube;
  std::uint64_t reserves = 0;
  std::int64_t start_ns = 0;  // Wall clock; 0 if nothing was run.
  Duration time;
  std::uint64_t body_bytes = 0;
  std::uint64_t output_bytes = 0;
  int status = -1;  // Exit status; 0 if a signal ended the program, -1 if nothing was run.
  int signal = 0;
  std::string_view end;  // Fate of the job: done, released, buried or doubt.
};

// Quotes a word for a shell. Writes bytes that are not printable ASCII as \xHH.
std::string shell_word(std::string_view word);

// A log file with a line for each run of a program, in the columns of GNU parallel's --joblog and
// some more.
class JobLog final {
 public:
  // Opens the file for appending, and writes a line of titles if it is empty. The command is logged
  // as given, without bodies. Returns false and sets `error` on failure.
  [[nodiscard]] bool open(const std::string& path, const std::vector<std::string>& command,
                          std::string& error);
  // Appends a line with one write, so that several processes can share a file. Does nothing if no
  // file is open. Returns false and sets `error` on failure.
  [[nodiscard]] bool write(const JobRun& run, std::string& error);

 private:
  bool add(std::string_view line, std::string& error);

  std::string path_;
  std::string command_;
  os::Descriptor file_;
};

// Time between SIGTERM and SIGKILL.
inline constexpr auto kKillPatience = Duration::seconds(5);

// Slows the run down while all programs fail. Probably something that they need is down, such as a
// database, and at full speed each job would soon use up its tries. A few programs still run, to
// notice the recovery. One success restores full speed.
class Slowdown final {
 public:
  // Number of failures in a row before it slows down.
  static constexpr std::uint64_t kFreeFailures = 10;
  static constexpr auto kPauseMin = Duration::milliseconds(100);
  static constexpr auto kPauseMax = Duration::seconds(5);

  // Returns true if the run slows down with this failure.
  bool count_failure(Instant now);
  void count_success();

  // Returns the earliest time at which a worker may ask for a job.
  Instant next_start() const { return next_start_; }
  // Records that a worker asks for a job; the next one waits for the pause.
  void count_start(Instant now) { next_start_ = now + pause_; }

 private:
  std::uint64_t failures_ = 0;  // In a row.
  Duration pause_;
  Instant next_start_;
};

struct WorkRun {
  enum class Phase : unsigned char {
    working,
    finishing,    // No new jobs; running programs may finish.
    giving_back,  // Programs are terminated, and unfinished jobs become ready.
  };

  WorkRun(const WorkPlan& the_plan, const Address& the_address, Duration the_patience)
      : plan(the_plan), address(the_address), patience(the_patience) {}

  // Writes a line to stderr. `line` has no line end.
  void say(const std::string& line);
  // Returns true if so much output is pending that no program should be started.
  bool is_choked() const;
  // Ends the run: running programs may finish, and none is started. The first status is the exit
  // status of the run.
  void end(int with_status);
  // Returns true if another worker may ask for a job.
  bool has_ticket() const { return begun + reserving < plan.count; }
  // Records that a worker no longer asks for a job.
  void end_reserve() {
    CHECK(reserving > 0);
    --reserving;
  }
  // Records that a reserved job gets no program.
  void take_back_begin() {
    CHECK(begun > 0);
    --begun;
  }

  const WorkPlan& plan;
  const Address& address;
  Duration patience;  // Time limit for answers of the server.
  sigset_t program_mask{};
  Phase phase = Phase::working;
  Outlet output{STDOUT_FILENO};
  Outlet error{STDERR_FILENO};
  bool is_server_lost = false;  // The server is lost, and this was reported.
  bool has_to_end = false;
  int status = 0;  // Exit status of the run; 0 if it depends only on the jobs.

  std::uint64_t begun = 0;      // Jobs that were reserved for a program.
  std::uint64_t reserving = 0;  // Workers that ask for a job.
  std::uint64_t done = 0;
  std::uint64_t released = 0;
  std::uint64_t buried = 0;
  std::uint64_t in_doubt = 0;  // Jobs that may be done twice.
  std::uint64_t expected = 0;  // Jobs that were ready at the start; 0 if unknown.
  Slowdown slowdown;
  JobLog log;
};

}  // namespace haricot::tool
