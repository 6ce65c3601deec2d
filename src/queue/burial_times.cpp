#include "haricot/queue/burial_times.hpp"

#include <new>

namespace haricot {
namespace {

// A stored burial has the number of its cause, which is never 0, in these bits, and its seconds in
// the others.
constexpr std::uint32_t kCauseBits = 3;
constexpr std::uint32_t kCauseMask = (std::uint32_t{1} << kCauseBits) - 1;
constexpr std::uint32_t kSecondsMask = ~std::uint32_t{0} >> kCauseBits;
// Times up to twelve days ahead count as the future, those beyond as the past.
constexpr std::uint32_t kFutureSeconds = std::uint32_t{1} << 20;

constexpr std::int64_t kPerSecond = 1'000'000'000;

// Returns the whole seconds of an instant, rounded down.
std::int64_t seconds_of(Instant instant) {
  const std::int64_t nanoseconds = instant.count();
  return nanoseconds / kPerSecond - (nanoseconds % kPerSecond < 0 ? 1 : 0);
}

}  // namespace

bool BurialTimes::make(Column& column, std::uint32_t pieces) {
  column.burials.reset(new (std::nothrow) std::uint32_t[pieces]());
  if (column.burials == nullptr) return false;
  column.pieces = pieces;
  memory_bytes_ += pieces * sizeof(std::uint32_t);
  return true;
}

void BurialTimes::set(PieceRef at, std::uint32_t pieces, const Burial& burial) {
  if (at.chunk >= columns_.size()) {
    try {
      columns_.resize(at.chunk + 1);
    } catch (const std::bad_alloc&) {
      return;
    }
  }
  Column& column = columns_[at.chunk];
  if (column.burials == nullptr && !make(column, pieces)) return;
  std::uint32_t& stored = column.burials[at.piece];
  if (stored == 0) {
    ++column.size;
    ++size_;
  }
  stored = static_cast<std::uint32_t>(seconds_of(burial.since)) << kCauseBits |
           static_cast<std::uint32_t>(burial.cause);
}

void BurialTimes::clear(PieceRef at) {
  if (stored(at) == 0) return;
  Column& column = columns_[at.chunk];
  column.burials[at.piece] = 0;
  --size_;
  if (--column.size > 0) return;
  memory_bytes_ -= column.pieces * sizeof(std::uint32_t);
  column = {};
}

std::uint32_t BurialTimes::stored(PieceRef at) const {
  if (at.chunk >= columns_.size() || columns_[at.chunk].burials == nullptr) return 0;
  return columns_[at.chunk].burials[at.piece];
}

std::optional<Burial> BurialTimes::get(PieceRef at, Instant now) const {
  const std::uint32_t burial = stored(at);
  if (burial == 0) return std::nullopt;
  const std::int64_t last = seconds_of(now) + kFutureSeconds;
  const std::uint32_t since = burial >> kCauseBits;
  const std::uint32_t before_last = (static_cast<std::uint32_t>(last) - since) & kSecondsMask;
  return Burial{.since = Instant::at((last - before_last) * kPerSecond),
                .cause = static_cast<BurialCause>(burial & kCauseMask)};
}

}  // namespace haricot
