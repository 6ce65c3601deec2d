#include "haricot/binlog/format/burial_stamp.hpp"

#include <algorithm>
#include <limits>

#include "haricot/base/crc32c.hpp"

namespace haricot::binlog {
namespace {

constexpr unsigned kLowBits = 8;
constexpr unsigned kCheckBits = 5;
constexpr std::uint64_t kLowMask = (1U << kLowBits) - 1;
constexpr std::uint64_t kCheckMask = (1U << kCheckBits) - 1;
constexpr std::uint64_t kNoTime = 0;  // In place of the number of a cause.

// Returns the check bits of a stamp, whose own check bits are ignored.
std::uint64_t check_of(JobId id, std::uint64_t stamp) {
  return crc32c(crc32c(0, id, {}), stamp & ~kCheckMask, {}) & kCheckMask;
}

std::int64_t make_stamp(JobId id, std::int64_t at, std::uint64_t cause, std::int64_t last) {
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max() >> kLowBits;
  const std::int64_t high = std::min(std::max(at >> kLowBits, (last >> kLowBits) + 1), kLast);
  const std::uint64_t stamp = static_cast<std::uint64_t>(high) << kLowBits | cause << kCheckBits;
  return static_cast<std::int64_t>(stamp | check_of(id, stamp));
}

}  // namespace

std::int64_t stamp_of(JobId id, const StampedBurial& burial, std::int64_t last) {
  return make_stamp(id, burial.at, static_cast<std::uint64_t>(burial.cause), last);
}

std::int64_t stamp_without_time(JobId id, std::int64_t last) {
  return make_stamp(id, last, kNoTime, last);
}

std::optional<StampedBurial> burial_of(JobId id, std::int64_t stamp) {
  const auto bits = static_cast<std::uint64_t>(stamp);
  if ((bits & kCheckMask) != check_of(id, bits)) return StampedBurial{.at = stamp};
  const std::uint64_t cause = (bits & kLowMask) >> kCheckBits;
  if (cause == kNoTime) return std::nullopt;
  return StampedBurial{.at = static_cast<std::int64_t>(bits & ~kLowMask),
                       .cause = burial_cause(static_cast<std::uint32_t>(cause))};
}

}  // namespace haricot::binlog
