// A worker of `haricot work`.

#pragma once

#include <poll.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "haricot/base/time.hpp"
#include "tool/client/answer_parser.hpp"
#include "tool/client/link.hpp"
#include "tool/client/pipeline.hpp"
#include "tool/work/program.hpp"
#include "tool/work/work_plan.hpp"
#include "tool/work/work_run.hpp"

namespace haricot::tool {

// A worker: reserves a job, runs the program for it, and deletes, releases or buries the job.
//
// Each worker has its own connection: no other connection can touch or delete its job, and a
// connection that waits for a job cannot be used for anything else. A worker never blocks; the Crew
// calls it when a descriptor is ready or a time is reached.
class Worker final {
 public:
  // Workers share the receive buffer, which must outlive the object.
  Worker(WorkRun& run, std::span<char> buffer);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Connects and asks for the first job.
  void begin(Instant now);

  // Adds the descriptors to wait for: first that of the connection, which may be -1, then the
  // output of its program if `reads_output`.
  void add_wanted(std::vector<pollfd>& wanted, bool reads_output) const;
  Instant next_event() const;

  // Handles descriptors that may be ready. `events` are those of the connection.
  void handle(short events);
  // Handles times that are reached.
  void advance(Instant now);
  // Handles the end of its program, if it has ended.
  void handle_ends(Instant now);
  // Adapts to a new phase of the run.
  void change_phase(Instant now);
  // Kills its program.
  void kill();

  bool is_finished() const { return state_ == State::finished; }

 private:
  enum class State : std::uint8_t {
    resting,    // Pauses until due_: the server is lost, programs fail, or the output is not read.
    reserving,  // Waits for a job.
    asking,     // Has a job, and asks for its statistics.
    working,    // The program runs. If the connection is closed, the job is lost.
    ending,     // The command that ends the reservation is sent.
    finished,
  };
  // Fate of a job, intended or actual.
  enum class Fate : std::uint8_t { done, released, given_back, buried, in_doubt };

  // A request and its commands.
  struct Asked {
    Request request;
    std::string commands;
  };

  void start_next(Instant now);  // Proceeds to the next job.
  template <void (Worker::*kMethod)(const Answer& answer, Instant now)>
  void ask(Asked& what, std::string commands, std::uint64_t answers = 1, std::uint64_t more_s = 0);
  void ask_for_job(Instant now, bool has_to_watch);
  void take_begin(const Answer& answer, Instant now);
  void take_job(const Answer& answer, Instant now);
  void take_no_job(Instant now);
  void take_stats(const Answer& answer, Instant now);
  void take_touch(const Answer& answer, Instant now);
  void take_ending(const Answer& answer, Instant now);
  void run_program(Instant now);
  void end_time(Instant now);
  void read_output(bool is_over);
  void end_job(const ProgramEnd& end, Instant now);
  // `reason`: note of the job.
  void end_badly(const std::string& what, const std::string& reason, bool may_try_again);
  void end_unstarted(int reason, Instant now);
  void end_unstarted(const std::string& what, int status, Instant now);
  void ask_for_end(Fate fate, std::uint64_t delay_s, std::string_view note = {});
  void count(Fate fate);
  void lose(const std::string& reason, Instant now);
  void rest(Instant now);
  void finish();
  std::string job_name() const { return "job " + std::to_string(job_.id); }

  WorkRun& work_;
  Asked step_;  // From the reserve to the end of the job, one after the other.
  Asked touch_;
  Link link_;
  State state_ = State::resting;
  Instant due_ = Instant::never();  // End of the pause.
  Duration rest_;
  std::optional<Instant> lost_since_;
  std::uint64_t turn_s_ = 0;  // Seconds that the server was asked to wait for a job.
  std::uint64_t left_s_ = 0;  // Rest of the plan's wait_s.

  WorkJob job_;
  bool has_notes_ = false;  // The server of the connection has notes.
  bool is_held_ = false;    // The job is held, as far as the worker knows.
  Fate wanted_end_ = Fate::done;
  bool was_kicked_ = false;  // The server buried a job that was to be released, so it was kicked.
  Instant touch_due_ = Instant::never();
  Instant time_due_ = Instant::never();  // Time of SIGTERM, then of SIGKILL.
  bool took_too_long_ = false;
  Instant started_;
  JobRun run_;  // For the log.
  Program program_;
  LinePrefix output_{""};
  LinePrefix error_{""};
};

}  // namespace haricot::tool
