#include "tool/work/work_run.hpp"

#include <algorithm>

#include "tool/cli/output.hpp"

namespace haricot::tool {

bool Slowdown::count_failure(Instant now) {
  if (++failures_ < kFreeFailures) return false;
  const bool begins = pause_.count() == 0;
  pause_ = begins ? kPauseMin : std::min(Duration::nanoseconds(pause_.count() * 2), kPauseMax);
  count_start(now);
  return begins;
}

void Slowdown::count_success() {
  *this = {};
}

void WorkRun::say(const std::string& line) {
  error.add("haricot work: " + safe_lines(line) + "\n");
}

void WorkRun::end(int with_status) {
  if (status == 0) status = with_status;
  has_to_end = true;
}

bool WorkRun::is_choked() const {
  constexpr std::size_t kPendingBytesMax = 1024 * 1024;
  return output.pending_bytes() + error.pending_bytes() > kPendingBytesMax;
}

}  // namespace haricot::tool
