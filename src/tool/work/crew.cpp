#include "tool/work/crew.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "haricot/base/check.hpp"
#include "os/clock.hpp"
#include "tool/cli/interrupt.hpp"
#include "tool/cli/subcommand.hpp"

namespace haricot::tool {
namespace {

constexpr int kEndSignals[] = {SIGINT, SIGTERM, SIGHUP};
constexpr int kLastWordsMs = 10'000;

int milliseconds_until(Instant then, Instant now) {
  constexpr std::int64_t kMax = 3'600'000;
  if (then <= now) return 0;
  return static_cast<int>(std::min((then - now).count() / 1'000'000 + 1, kMax));
}

}  // namespace

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
  for (std::uint64_t i = 0; i < work_.plan.workers; ++i) workers_.emplace_back(work_).begin(start);
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
  ::poll(watched_.data(), watched_.size(), milliseconds_until(next, now));
}

void Crew::serve_workers(Instant now) {
  CHECK(begins_.size() == workers_.size() + 1 && begins_.back() <= watched_.size());
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const auto begin = watched_.begin() + static_cast<std::ptrdiff_t>(begins_[i]);
    const auto end = watched_.begin() + static_cast<std::ptrdiff_t>(begins_[i + 1]);
    const bool is_ready =
        std::any_of(begin, end, [](const pollfd& one) { return one.revents != 0; });
    if (is_ready) workers_[i].handle(now);
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

}  // namespace haricot::tool
