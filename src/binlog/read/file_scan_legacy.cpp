// Files of beanstalkd, of version 7 and of version 5: no sums, so what a record may hold, and what
// stands after it, takes their place.

#include <algorithm>

#include "haricot/binlog/read/file_scan.hpp"

namespace haricot::binlog {
namespace {

// A change is easily found a few bytes too early, in the zeros in front of it: its times are then
// 256 times as long, or 65536 times, which may still be whole seconds.
constexpr std::uint64_t kShiftsLookedAt = 8;

}  // namespace

std::optional<FileScan::LegacyRecord> FileScan::legacy_record_at(std::uint64_t offset) const {
  const std::string_view rest = bytes_.substr(static_cast<std::size_t>(offset));
  std::size_t header_length = 0;
  std::optional<Parsed> parsed;
  if (identity_.kind == FileKind::beanstalkd_v5) {
    parsed = parse_record_v5(rest, header_length);
  } else {
    parsed = parse_record(rest);
    if (parsed) header_length = header_bytes(parsed->record.tube_name.size());
  }
  // What only stands for itself is none of beanstalkd's.
  if (!parsed || parsed->record.id == kPseudoId) return std::nullopt;
  const Record& record = parsed->record;
  return LegacyRecord{*parsed, header_length + (record.is_full() ? record.body_bytes : 0)};
}

// Whether a record stands there that beanstalkd has clearly written.
bool FileScan::is_clear_at(std::uint64_t offset) const {
  const auto found = legacy_record_at(offset);
  return found && is_clearly_of_beanstalkd(found->parsed);
}

const FileScan::Found* FileScan::next_legacy() {
  for (;;) {
    const std::optional<LegacyRecord> found = legacy_record_at(offset_);
    if (found && offset_ + found->bytes <= end_ && found->parsed.body_is_there &&
        has_values_of_beanstalkd(found->parsed)) {
      found_ = {found->parsed, offset_, false, !damages_.empty()};
      offset_ += found->bytes;
      accepted_bytes_ = offset_;
      ++records_;
      return &found_;
    }
    if (!search_on_in_legacy()) {
      end();
      return nullptr;
    }
  }
}

// Finds the next record that beanstalkd has clearly written. False: there is none.
bool FileScan::search_on_in_legacy() {
  const std::uint64_t begin = offset_;
  std::uint64_t at = begin + 1;
  while (at + kShortRecordBytes <= end_) {
    if (bytes_[static_cast<std::size_t>(at)] == '\0') {
      // A record begins with zeros: those of its name length, and of a small id that ends in some.
      constexpr std::uint64_t kZerosInFront = 16;
      const std::size_t nonzero = find_nonzero(bytes_, static_cast<std::size_t>(at));
      if (nonzero >= end_) return false;
      if (nonzero > at + kZerosInFront) at = nonzero - kZerosInFront;
    }
    if (is_clear_at(at)) {
      for (std::uint64_t shift = kShiftsLookedAt; shift > 0; --shift) {
        if (at + shift < bytes_.size() && is_clear_at(at + shift)) {
          at += shift;
          break;
        }
      }
      damages_.push_back(lost(begin, at, 0));
      offset_ = at;
      return true;
    }
    ++at;
  }
  return false;
}

}  // namespace haricot::binlog
