#include "tool/work/crew.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "os/clock.hpp"
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
  ::signal(SIGCHLD,
           SIG_DFL);  // Who has started us may have ignored it, and then ends are not told.
  ::sigprocmask(SIG_BLOCK, &set, &shift_.program_mask);
  signals_ = os::Descriptor(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  if (signals_) return true;
  error = std::string("cannot watch signals: ") + std::strerror(errno);
  return false;
}

void Crew::run() {
  const Instant start = os::read_clock();
  for (std::uint64_t i = 0; i < shift_.plan.slots; ++i) slots_.emplace_back(shift_).begin(start);
  while (!is_finished()) {
    wait(os::read_clock());
    shift_.output.write_some();
    shift_.error.write_some();
    if (shift_.output.failure() != 0 && shift_.phase == Shift::Phase::working) {
      shift_.say(std::string("cannot write to stdout: ") + std::strerror(shift_.output.failure()));
      shift_.end(kExitLocal);
    }
    read_signals();
    const Instant now = os::read_clock();
    serve_slots(now);
    if (shift_.has_to_end && shift_.phase == Shift::Phase::working) {
      set_phase(Shift::Phase::finishing);
    }
    if (now >= kill_due_) {
      kill_due_ = Instant::never();
      for (Slot& slot : slots_) slot.kill();
    }
  }
  shift_.output.finish(kLastWordsMs);
  shift_.error.finish(kLastWordsMs);
}

bool Crew::is_finished() const {
  return std::all_of(slots_.begin(), slots_.end(),
                     [](const Slot& slot) { return slot.is_finished(); });
}

void Crew::wait(Instant now) {
  watched_ = {{signals_.get(), POLLIN, 0}};
  begins_.clear();
  for (const Outlet* outlet : {&shift_.output, &shift_.error}) {
    if (outlet->has_more()) watched_.push_back({outlet->descriptor(), POLLOUT, 0});
  }
  const bool reads_output = watched_.size() == 1;
  Instant next = kill_due_;
  for (const Slot& slot : slots_) {
    begins_.push_back(watched_.size());
    slot.add_wanted(watched_, reads_output);
    next = std::min(next, slot.next_event());
  }
  begins_.push_back(watched_.size());
  ::poll(watched_.data(), watched_.size(), milliseconds_until(next, now));
}

void Crew::serve_slots(Instant now) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const auto begin = watched_.begin() + static_cast<std::ptrdiff_t>(begins_[i]);
    const auto end = watched_.begin() + static_cast<std::ptrdiff_t>(begins_[i + 1]);
    const bool is_ready =
        std::any_of(begin, end, [](const pollfd& one) { return one.revents != 0; });
    if (is_ready) slots_[i].handle(now);
    slots_[i].advance(now);
  }
}

void Crew::read_signals() {
  signalfd_siginfo signal{};
  bool has_ended = false;
  while (::read(signals_.get(), &signal, sizeof signal) == sizeof signal) {
    if (signal.ssi_signo == SIGCHLD) {
      has_ended = true;
    } else {
      take_end_signal();
    }
  }
  if (!has_ended) return;
  const Instant now = os::read_clock();
  for (Slot& slot : slots_) slot.handle_ends(now);
}

void Crew::take_end_signal() {
  switch (shift_.phase) {
    case Shift::Phase::working:
      return set_phase(Shift::Phase::finishing);
    case Shift::Phase::finishing:
      kill_due_ = os::read_clock() + kKillPatience;
      return set_phase(Shift::Phase::giving_back);
    case Shift::Phase::giving_back:
      kill_due_ = os::read_clock();
  }
}

void Crew::set_phase(Shift::Phase phase) {
  shift_.phase = phase;
  const Instant now = os::read_clock();
  for (Slot& slot : slots_) slot.change_phase(now);
}

}  // namespace haricot::tool
