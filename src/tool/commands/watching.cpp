#include "tool/commands/watching.hpp"

#include <poll.h>

#include <algorithm>

#include "os/clock.hpp"
#include "tool/cli/output.hpp"

namespace haricot::tool {

void add_watching_flags(Errand& errand, Watching& to) {
  errand.add({'i', "interval", "S", "polling interval in seconds (0.5)",
              set_milliseconds(to.interval_ms, 1), kPositiveTimeWanted});
  errand.add({'q', "quiet", "", "print nothing", set(to.quiet)});
}

std::optional<Duration> watch(Errand& errand, const Watching& choice,
                              const std::function<std::optional<Look>()>& look) {
  Progress progress("jobs left:", choice.quiet);
  std::uint64_t most = 0;  // Largest number of jobs left so far.
  const Instant begin = os::read_clock();
  const auto milliseconds = [](std::uint64_t count) {
    return Duration::milliseconds(static_cast<std::int64_t>(count));
  };
  const Instant end = choice.has_limit ? begin + milliseconds(choice.wait_ms) : Instant::never();
  std::string told;
  while (const std::optional<Look> seen = look()) {
    const Instant now = os::read_clock();
    if (!choice.quiet && !errand.json() && seen->line != told) {
      progress.clear();
      print(seen->line);
      told = seen->line;
    }
    const bool is_read = errand.done() == kExitDone;
    if (seen->is_over || now >= end || !is_read) return now - begin;
    most = std::max(most, seen->jobs_left);
    progress.show_share(now, seen->jobs_left, most - seen->jobs_left, most);
    const Instant next = std::min(now + milliseconds(choice.interval_ms), end);
    ::poll(nullptr, 0, os::timeout_ms(now, next));
  }
  return std::nullopt;
}

}  // namespace haricot::tool
