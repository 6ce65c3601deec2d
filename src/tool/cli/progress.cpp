#include "tool/cli/progress.hpp"

#include <unistd.h>

#include <cinttypes>
#include <cstdio>

namespace haricot::tool {
namespace {

constexpr Duration kInterval = Duration::milliseconds(250);

bool has_place(bool is_quiet, Progress::Results results) {
  if (is_quiet || ::isatty(STDERR_FILENO) == 0) return false;
  return results == Progress::Results::at_end || ::isatty(STDOUT_FILENO) == 0;
}

}  // namespace

Progress::Progress(std::string_view verb, bool is_quiet, Results results)
    : verb_(verb), is_wanted_(has_place(is_quiet, results)) {}

void Progress::show(Instant now, std::uint64_t done, std::uint64_t all) {
  if (!is_wanted_) return;
  const bool is_early = !next_ || now < *next_;
  if (!next_ || now >= *next_) next_ = now + kInterval;
  if (is_early) return;
  is_shown_ = true;
  std::fprintf(stderr, "\r\033[K%.*s %" PRIu64, static_cast<int>(verb_.size()), verb_.data(), done);
  if (all > 0) std::fprintf(stderr, " of %" PRIu64, all);
  std::fflush(stderr);
}

void Progress::say(std::string_view what) {
  if (!is_wanted_) return;
  is_shown_ = true;
  std::fprintf(stderr, "\r\033[K%.*s ...", static_cast<int>(what.size()), what.data());
  std::fflush(stderr);
}

void Progress::clear() {
  if (!is_shown_) return;
  is_shown_ = false;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

}  // namespace haricot::tool
