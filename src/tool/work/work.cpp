// haricot work: runs a program for each job.

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "haricot/base/check.hpp"
#include "haricot/base/name_bytes.hpp"
#include "haricot/base/time.hpp"
#include "os/clock.hpp"
#include "os/descriptor.hpp"
#include "tool/cli/interrupt.hpp"
#include "tool/cli/output.hpp"
#include "tool/cli/subcommand.hpp"
#include "tool/client/errand.hpp"
#include "tool/work/work_plan.hpp"
#include "tool/work/work_run.hpp"
#include "tool/work/worker.hpp"

namespace haricot::tool {
namespace {

constexpr ErrandText kText = {
    "work", "[OPTIONS] [--] PROGRAM [ARGUMENT...]",
    "Reserves jobs and runs the program for each. The program gets the body on its stdin, or in\n"
    "place of {} in its arguments, which no shell interprets. A body can be any text, such as\n"
    "-f: put {} after -- or after a flag. HARICOT_JOB_ID, HARICOT_JOB_TUBE,\n"
    "HARICOT_JOB_PRIORITY, HARICOT_JOB_RESERVES and HARICOT_JOB_TTR in its environment describe\n"
    "the job. If it exits with status 0, the job is deleted. Otherwise the job is released with\n"
    "a delay that doubles with each reserve, or buried after --tries. While the program runs,\n"
    "the job is touched before its TTR ends. If haricotd is the server, a job whose program fails\n"
    "gets a note: how the program ended, and the last line of its stderr. SIGTERM or Ctrl-C waits\n"
    "for the running programs; a second signal terminates them and releases their jobs. If work\n"
    "is killed, the kernel kills the programs. On a terminal their output is escaped. The status\n"
    "is 7 if jobs were buried, 126 if the program cannot be executed, and 127 if it does not\n"
    "exist.\n",
    "    haricot work --tube mail -- send-mail --to {}\n"
    "    haricot work --tube mail --wait 0 -- sh -c 'wc -c'  # empty a tube, body on stdin\n"
    "    haricot work -- sh -c 'ls -- \"$1\" | wc -l' sh {}    # {} as an argument, never in the "
    "text\n"
    "    haricot work --tube mail --jobs 4 --tries 5 --delay 1m -- ./deliver\n"};

constexpr std::uint64_t kWorkersMax = 1000;
constexpr int kOwnLastWordsMs = 1000;

void add_flags(Errand& errand, WorkPlan& plan, std::string& log_path) {
  errand.add({'t', "tube", "TUBE", "work on this tube; may be repeated (default)",
              [&plan](std::string_view value) {
                plan.tubes.emplace_back(value);
                return is_tube_name(value);
              },
              "a tube name"});
  errand.add({'j', "jobs", "N", "number of concurrent programs (1)",
              set_count(plan.workers, 1, kWorkersMax), "a number from 1 to 1000"});
  errand.add({'n', "tries", "N", "bury a job that fails at its Nth reserve; 0: never (0)",
              set_count(plan.tries, 0, kSecondsMax), "a number"});
  errand.add({'d', "delay", "S", "delay of the first release, in seconds (1)",
              set_seconds(plan.delay_s), kTimeWanted});
  errand.add({0, "delay-max", "S", "longest delay, in seconds (3600)",
              set_seconds(plan.delay_max_s), kTimeWanted});
  errand.add(count_flag("exit after N jobs", plan.count, 'c'));
  errand.add({'w', "wait", "S", "exit if no job arrives for S seconds (never)",
              [&plan](std::string_view value) {
                std::uint64_t seconds = 0;
                const bool is_good = set_seconds(seconds)(value);
                plan.wait_s = seconds;
                return is_good;
              },
              kTimeWanted});
  errand.add({0, "max-time", "S", "terminate a program after S; its job has failed (never)",
              set_milliseconds(plan.max_time_ms, 1), kPositiveTimeWanted});
  errand.add({0, "bury-on", "LIST", "exit statuses that bury the job at once, as 65,70-78",
              [&plan](std::string_view value) {
                std::optional<std::vector<StatusRange>> statuses = read_statuses(value);
                if (statuses) plan.burying = std::move(*statuses);
                return statuses.has_value();
              },
              "a list of exit statuses from 1 to 255"});
  errand.add(
      {0, "joblog", "FILE", "append a line for each job to this file", set(log_path), "a file"});
  errand.add({0, "plain", "", "pass the output of programs through, without [ID] prefixes",
              set(plan.plain)});
  errand.add(
      {'q', "quiet", "", "do not report failed jobs, nor totals at the end", set(plan.quiet)});
}

void say_sums(WorkRun& run) {
  std::string text = std::to_string(run.done) + " done, " + std::to_string(run.released) +
                     " released, " + std::to_string(run.buried) + " buried";
  if (run.in_doubt > 0) text += ", " + std::to_string(run.in_doubt) + " may be done twice";
  run.say(text);
}

// Returns the number of ready jobs of the tubes, but at most --count; 0 if the server fails, which
// the workers will notice.
std::uint64_t expected_jobs(Remote& server, const WorkPlan& plan) {
  std::uint64_t ready = 0;
  for (const std::string& tube : plan.tubes) {
    bool is_there = false;
    const std::optional<StatsText> stats = server.ask_stats("stats-tube " + tube, is_there);
    if (!stats) return 0;
    ready += stats->number("current-jobs-ready").value_or(0);
  }
  return std::min(ready, plan.count);
}

// The workers of a run of `haricot work`, and the loop that serves them.
class Crew final {
 public:
  Crew(WorkRun& run, Progress& progress)
      : work_(run),
        progress_(progress),
        buffer_(std::make_unique_for_overwrite<char[]>(kBufferBytes)) {}

  // Starts to receive signals. Returns false and sets `error` on failure.
  [[nodiscard]] bool open(std::string& error);
  // Works until the plan is fulfilled or a signal ends it.
  void run();

 private:
  void wait(Instant now);
  void serve_workers(Instant now);
  void read_signals();
  void take_end_signal();
  void set_phase(WorkRun::Phase phase);
  bool is_finished() const;
  void write_output();

  static constexpr std::size_t kBufferBytes = 64 * 1024;

  WorkRun& work_;
  Progress& progress_;
  std::unique_ptr<char[]> buffer_;
  std::deque<Worker> workers_;
  os::Descriptor signals_;
  // Descriptors of the last poll(), and the index of the first one of each worker; the last index
  // is the end.
  std::vector<pollfd> watched_;
  std::vector<std::size_t> begins_;
  Instant kill_due_ = Instant::never();
};

constexpr int kEndSignals[] = {SIGINT, SIGTERM, SIGHUP};
constexpr int kLastWordsMs = 10'000;

bool Crew::open(std::string& error) {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGCHLD);
  for (const int number : kEndSignals) ::sigaddset(&set, number);
  // If the parent ignored SIGCHLD, ends of programs would not be reported.
  ::signal(SIGCHLD, SIG_DFL);
  ::sigprocmask(SIG_BLOCK, &set, &work_.program_mask);
  signals_ = os::Descriptor(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  if (signals_) return true;
  error = std::string("cannot watch signals: ") + std::strerror(errno);
  return false;
}

void Crew::run() {
  const Instant start = os::read_clock();
  for (std::uint64_t i = 0; i < work_.plan.workers; ++i) {
    workers_.emplace_back(work_, std::span(buffer_.get(), kBufferBytes)).begin(start);
  }
  while (!is_finished()) {
    wait(os::read_clock());
    write_output();
    if (work_.output.failure() != 0 && work_.phase == WorkRun::Phase::working) {
      work_.say(std::string("cannot write to stdout: ") + std::strerror(work_.output.failure()));
      work_.end(kExitLocal);
    }
    read_signals();
    const Instant now = os::read_clock();
    serve_workers(now);
    if (work_.has_to_end && work_.phase == WorkRun::Phase::working) {
      set_phase(WorkRun::Phase::finishing);
    }
    if (now >= kill_due_) {
      kill_due_ = Instant::never();
      for (Worker& worker : workers_) worker.kill();
    }
  }
  progress_.clear();
  work_.output.finish(kLastWordsMs);
  work_.error.finish(kLastWordsMs);
}

void Crew::write_output() {
  if (work_.output.has_more() || work_.error.has_more()) progress_.clear();
  work_.output.write_some();
  work_.error.write_some();
  if (work_.output.has_more() || work_.error.has_more()) return;
  const std::uint64_t ended = work_.done + work_.buried;
  progress_.show(os::read_clock(), ended, work_.expected > ended ? work_.expected : 0);
}

bool Crew::is_finished() const {
  return std::all_of(workers_.begin(), workers_.end(),
                     [](const Worker& worker) { return worker.is_finished(); });
}

void Crew::wait(Instant now) {
  watched_ = {{signals_.get(), POLLIN, 0}};
  begins_.clear();
  for (const Outlet* outlet : {&work_.output, &work_.error}) {
    if (outlet->has_more()) watched_.push_back({outlet->descriptor(), POLLOUT, 0});
  }
  const bool reads_output = watched_.size() == 1;
  Instant next = kill_due_;
  for (const Worker& worker : workers_) {
    begins_.push_back(watched_.size());
    worker.add_wanted(watched_, reads_output);
    next = std::min(next, worker.next_event());
  }
  begins_.push_back(watched_.size());
  ::poll(watched_.data(), watched_.size(), os::timeout_ms(now, next));
}

void Crew::serve_workers(Instant now) {
  CHECK(begins_.size() == workers_.size() + 1 && begins_.back() <= watched_.size());
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const auto begin = watched_.begin() + static_cast<std::ptrdiff_t>(begins_[i]);
    const auto end = watched_.begin() + static_cast<std::ptrdiff_t>(begins_[i + 1]);
    const bool is_ready =
        std::any_of(begin, end, [](const pollfd& one) { return one.revents != 0; });
    if (is_ready) workers_[i].handle(begin->revents);
    workers_[i].advance(now);
  }
}

void Crew::read_signals() {
  signalfd_siginfo signal{};
  bool has_ended = false;
  while (::read(signals_.get(), &signal, sizeof signal) == sizeof signal) {
    if (signal.ssi_signo == SIGCHLD) {
      has_ended = true;
    } else {
      // SIGTERM and SIGHUP are the usual end of a service, not an interruption.
      if (signal.ssi_signo == SIGINT) remember_interrupt(SIGINT);
      take_end_signal();
    }
  }
  if (!has_ended) return;
  const Instant now = os::read_clock();
  for (Worker& worker : workers_) worker.handle_ends(now);
}

void Crew::take_end_signal() {
  switch (work_.phase) {
    case WorkRun::Phase::working:
      return set_phase(WorkRun::Phase::finishing);
    case WorkRun::Phase::finishing:
      kill_due_ = os::read_clock() + kKillPatience;
      return set_phase(WorkRun::Phase::giving_back);
    case WorkRun::Phase::giving_back:
      kill_due_ = os::read_clock();
  }
}

void Crew::set_phase(WorkRun::Phase phase) {
  work_.phase = phase;
  const Instant now = os::read_clock();
  for (Worker& worker : workers_) worker.change_phase(now);
}

}  // namespace

int work(Words words) {
  Errand errand(kText, Errand::Json::no);
  WorkPlan plan;
  std::string log_path;
  add_flags(errand, plan, log_path);
  errand.take_flags_in_front();
  if (const std::optional<int> over = errand.read(words)) return *over;
  plan.command.assign(errand.operands().begin(), errand.operands().end());
  if (plan.command.empty()) return errand.mistake("requires a program");
  if (const std::string_view text = executed_word(plan); !text.empty()) {
    return errand.mistake(
        "'" + std::string(text) +
        "' would be executed, so the body would be a command; pass it as an argument "
        "instead: sh -c '... \"$1\"' sh {}");
  }
  if (const int status = check_program(plan.command.front(), std::getenv("PATH"))) {
    errand.warn(status == kExitNotFound
                    ? "there is no program " + plan.command.front() +
                          (plan.tubes.empty() ? "; name a tube with --tube" : "")
                    : plan.command.front() + " cannot be executed");
    return status;
  }
  if (errand.has_timeout() && plan.max_time_ms == 0 && !plan.quiet) {
    errand.warn("--timeout limits answers of the server; to limit a program use --max-time");
  }
  if (plan.tubes.empty()) plan.tubes.emplace_back("default");
  // Fail now if there is no server. Workers would try again and again.
  if (const std::optional<int> over = errand.connect()) return *over;
  WorkRun run(plan, errand.server().address(), errand.patience());
  Progress progress("done", plan.quiet || plan.plain);
  if (progress.is_wanted()) run.expected = expected_jobs(errand.server(), plan);
  errand.server().close();
  Crew crew(run, progress);
  std::string error;
  const bool is_ready =
      (log_path.empty() || run.log.open(log_path, plan.command, error)) && crew.open(error);
  if (!is_ready) {
    errand.warn(error);
    return kExitLocal;
  }
  crew.run();
  if (!plan.quiet) say_sums(run);
  run.error.finish(kOwnLastWordsMs);
  if (run.status == 0 && run.buried > 0) return kExitBuried;
  return run.status;
}

}  // namespace haricot::tool
