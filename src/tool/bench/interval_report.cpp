#include "tool/bench/interval_report.hpp"

#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace haricot::tool {

std::optional<std::string> IntervalReport::take(const Tally& so_far) {
  if (so_far.elapsed < next_) return std::nullopt;
  while (next_ <= so_far.elapsed) next_ = Duration::nanoseconds(next_.count() + interval_.count());
  Histogram since;
  for (std::size_t i = 0; i < kOperations; ++i) {
    Histogram operation = so_far.latency_ns[i];
    operation.subtract(before_.latency_ns[i]);
    since.add(operation);
  }
  const double end = static_cast<double>(so_far.elapsed.count()) / 1e9;
  const double seconds = end - static_cast<double>(before_.elapsed.count()) / 1e9;
  const double rate = static_cast<double>(since.count()) / seconds;
  const double p50 = static_cast<double>(since.value_at(0.5)) / 1e3;
  const double p99 = static_cast<double>(since.value_at(0.99)) / 1e3;
  before_ = so_far;

  char line[200];
  if (is_json_) {
    std::snprintf(line, sizeof line,
                  "{\"at\":%.3f,\"commands\":%" PRIu64
                  ",\"rate\":%.1f,\"p50_us\":%.3f,\"p99_us\":%.3f}\n",
                  end, since.count(), rate, p50, p99);
    return line;
  }
  std::snprintf(line, sizeof line, "%9.1f %12" PRIu64 " %12.0f %9.1f %9.1f\n", end, since.count(),
                rate, p50, p99);
  std::string text = has_title_ ? "" : "  seconds     commands   commands/s    p50 us    p99 us\n";
  has_title_ = true;
  return text + line;
}

}  // namespace haricot::tool
