#include "haricot/base/serialization.hpp"

#include <cstring>
#include <limits>

#include "haricot/base/check.hpp"
#include "haricot/base/crc32c.hpp"

namespace haricot {
namespace {

constexpr std::size_t kSumBytes = sizeof(std::uint32_t);

}  // namespace

StateWriter::StateWriter(Sink sink)
    : sink_(sink), piece_(std::make_unique_for_overwrite<char[]>(kPieceBytes)) {}

void StateWriter::value(std::string_view bytes) {
  CHECK(bytes.size() <= std::numeric_limits<std::uint32_t>::max());
  value(static_cast<std::uint32_t>(bytes.size()));
  add(bytes);
}

void StateWriter::add(std::string_view bytes) {
  if (bytes.size() > kPieceBytes - used_) {
    flush();
    if (bytes.size() > kPieceBytes) {
      sum_ = crc32c(sum_, bytes);
      is_good_ = is_good_ && sink_.take(sink_.context, bytes);
      return;
    }
  }
  if (!bytes.empty()) std::memcpy(piece_.get() + used_, bytes.data(), bytes.size());
  used_ += bytes.size();
}

void StateWriter::flush() {
  const std::string_view bytes(piece_.get(), used_);
  used_ = 0;
  sum_ = crc32c(sum_, bytes);
  is_good_ = is_good_ && (bytes.empty() || sink_.take(sink_.context, bytes));
}

bool StateWriter::end() {
  flush();
  value(sum_);
  flush();
  return is_good_;
}

StateReader::StateReader(std::string_view bytes) : all_(bytes) {
  if (bytes.size() < kSumBytes) {
    refuse();
  } else {
    rest_ = bytes.substr(0, bytes.size() - kSumBytes);
  }
}

bool StateReader::is_whole() const {
  if (all_.size() < kSumBytes) return false;
  const std::string_view front = all_.substr(0, all_.size() - kSumBytes);
  return crc32c(0, front) == load_little_endian<std::uint32_t>(front.data() + front.size());
}

bool StateReader::begin(std::uint32_t kind) {
  const bool is_next =
      rest_.size() >= sizeof kind &&
      load_little_endian<std::uint32_t>(rest_.data()) == (kind ^ StateWriter::kEntry);
  if (is_next) rest_.remove_prefix(sizeof kind);
  return is_next;
}

void StateReader::value(std::string_view& bytes) {
  std::uint32_t count = 0;
  value(count);
  bytes = take(count);
}

void StateReader::value(std::string& bytes) {
  std::string_view view;
  value(view);
  bytes.assign(view);
}

std::string_view StateReader::take(std::size_t bytes) {
  if (bytes > rest_.size()) {
    refuse();
    return {};
  }
  const std::string_view result = rest_.substr(0, bytes);
  rest_.remove_prefix(bytes);
  return result;
}

}  // namespace haricot
