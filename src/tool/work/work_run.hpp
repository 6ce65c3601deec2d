// What all workers of one run of `haricot work` have in common.

#pragma once

#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "haricot/base/check.hpp"
#include "haricot/base/time.hpp"
#include "tool/client/address.hpp"
#include "tool/work/job_log.hpp"
#include "tool/work/outlet.hpp"
#include "tool/work/work_plan.hpp"

namespace haricot::tool {

// What a program has to end after SIGTERM, until SIGKILL.
inline constexpr auto kKillPatience = Duration::seconds(5);

// Slows the run down while all programs fail: what they need, a database say, is gone, and at full
// speed each job would lose all its tries in a moment. A few programs still run, to notice when it
// is back. One success ends the slowness.
class Slowdown final {
 public:
  // A run of so many failures is free.
  static constexpr std::uint64_t kFreeFailures = 10;
  static constexpr auto kPauseMin = Duration::milliseconds(100);
  static constexpr auto kPauseMax = Duration::seconds(5);

  // Returns whether the slowness begins with this failure.
  bool count_failure(Instant now);
  void count_success();

  // No worker may ask for a job before this instant.
  Instant next_start() const { return next_start_; }
  // A worker asks for a job; the next one has to wait for the pause.
  void count_start(Instant now) { next_start_ = now + pause_; }

 private:
  std::uint64_t failures_ = 0;  // In a row.
  Duration pause_;
  Instant next_start_;
};

struct WorkRun {
  enum class Phase : unsigned char {
    working,
    finishing,    // No new job; programs that run may end by themselves.
    giving_back,  // Programs are told to end, and jobs that are not done become ready.
  };

  WorkRun(const WorkPlan& the_plan, const Address& the_address, Duration the_patience)
      : plan(the_plan), address(the_address), patience(the_patience) {}

  // A line on stderr, without its line end.
  void say(const std::string& line);
  // Whether so much output waits for a reader that no program should be started.
  bool is_choked() const;
  // Lets the programs that run end, and no more be started; the first status is that of the run.
  void end(int with_status);
  // Whether another worker may ask for a job.
  bool has_ticket() const { return begun + reserving < plan.count; }
  // A worker asks for a job no more.
  void end_reserve() {
    CHECK(reserving > 0);
    --reserving;
  }
  // A job that a worker had reserved comes to no program.
  void take_back_begin() {
    CHECK(begun > 0);
    --begun;
  }

  const WorkPlan& plan;
  const Address& address;
  Duration patience;  // How long the server may stay silent.
  sigset_t program_mask{};
  Phase phase = Phase::working;
  Outlet output{STDOUT_FILENO};
  Outlet error{STDERR_FILENO};
  bool is_server_lost = false;  // And somebody was told.
  bool has_to_end = false;
  int status = 0;  // Of the whole run; 0: as the jobs have gone.

  std::uint64_t begun = 0;      // Jobs that were reserved for a program.
  std::uint64_t reserving = 0;  // Workers that ask for a job.
  std::uint64_t done = 0;
  std::uint64_t released = 0;
  std::uint64_t buried = 0;
  std::uint64_t in_doubt = 0;  // Jobs that may be done twice.
  std::uint64_t expected = 0;  // Jobs that were ready at the start; 0: unknown.
  Slowdown slowdown;
  JobLog log;
};

}  // namespace haricot::tool
