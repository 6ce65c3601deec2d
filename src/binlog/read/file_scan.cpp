#include "haricot/binlog/read/file_scan.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "haricot/base/crc32c.hpp"
#include "haricot/base/little_endian.hpp"
#include "haricot/base/name_bytes.hpp"
#include "haricot/protocol/command.hpp"

namespace haricot::binlog {
namespace {

// Number of later offsets that are tried after a record was found. The zeros before a change can be
// parsed as a record that begins a few bytes too early, with times 256 or 65536 times too long.
constexpr std::uint64_t kShiftsTried = 8;

// Returns true if these bytes are zeros, as far as the file has them.
bool is_zero(std::string_view file, std::uint64_t begin, std::uint64_t end) {
  if (begin >= file.size()) return true;
  const std::string_view part =
      file.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  return find_nonzero(part, 0) == part.size();
}

// Returns true if a full record with a valid header checksum begins at `begin`, once its name
// length is restored.
bool has_lost_its_length(std::string_view file, std::uint64_t begin, std::uint32_t seed) {
  if (begin >= file.size()) return false;
  std::array<char, header_bytes(kTubeNameBytesMax)> header{};
  const std::string_view rest = file.substr(static_cast<std::size_t>(begin), header.size());
  std::memcpy(header.data(), rest.data(), rest.size());
  const std::string_view bytes(header.data(), header.size());
  for (std::uint32_t length = 1; length <= kTubeNameBytesMax; ++length) {
    store_little_endian(header.data(), length);
    const std::optional<Parsed> parsed = parse_record(bytes);
    if (parsed && header_fits(bytes, *parsed, Position{seed, begin, 0})) return true;
  }
  return false;
}

}  // namespace

bool has_lost_its_head(std::string_view file) {
  return is_zero(file, 0, kFirstRecordOffset + kShortRecordBytes + 1);
}

bool looks_torn(std::string_view file, std::uint64_t begin, std::uint64_t end, std::uint32_t seed) {
  if (begin <= kFirstRecordOffset && has_lost_its_head(file)) return true;
  if (end > file.size()) return true;  // The length of the file was lost.
  // The record header of a large body, and the records of its tags, are written after the body. If
  // they share a sector with it, a crash leaves zeros only up to the body. So four zeros at the
  // beginning of that sector suffice.
  const bool may_precede_body =
      begin < kDiskSectorBytes && (begin - kFirstRecordOffset) % kShortRecordBytes == 0;
  std::uint64_t sector = begin / kDiskSectorBytes * kDiskSectorBytes;
  for (; sector < end; sector += kDiskSectorBytes) {
    const std::uint64_t from = std::max(begin, sector);
    std::uint64_t to = sector + kDiskSectorBytes;
    if (may_precede_body && from > begin) to = std::min(to, from + kNameLengthBytes);
    if (!is_zero(file, from, to)) continue;
    // The zeros may also be the name length of a change.
    if (from > begin || to - from > kNameLengthBytes || has_lost_its_length(file, begin, seed))
      return true;
  }
  return false;
}

void MarksRead::add(const std::optional<Mark>& mark) {
  (mark ? has_some : lacks_some) = true;
  if (!mark) return;
  has_durable_past |= mark->has_durable_past;
  durable_bytes = std::max(durable_bytes, mark->durable_bytes);
}

FileScan::FileScan(std::string_view bytes, const FileIdentity& identity, std::uint64_t end)
    : all_(bytes),
      bytes_(bytes),
      end_(std::min<std::uint64_t>(end, bytes.size())),
      identity_(identity) {
  const bool has_version = end_ >= kVersionBytes;
  const std::uint32_t version = has_version ? load_little_endian<std::uint32_t>(bytes.data()) : 0;
  switch (identity.kind) {
    case FileKind::empty:
    case FileKind::unidentified:
    case FileKind::unknown_version:
      ended_ = true;
      return;
    case FileKind::checked:
      bytes_ = bytes.substr(0, static_cast<std::size_t>(end_));
      offset_ = accepted_bytes_ = std::min<std::uint64_t>(kFirstRecordOffset, end_);
      if (!identity.signature) {
        damages_.push_back(
            {.offset = 0, .bytes = offset_, .looks_torn = looks_torn_between(0, offset_)});
      } else if (version != kVersion) {
        damages_.push_back({.offset = 0, .bytes = kVersionBytes});
      }
      return;
    case FileKind::beanstalkd_v7:
    case FileKind::beanstalkd_v5:
      offset_ = accepted_bytes_ = std::min<std::uint64_t>(kVersionBytes, end_);
      const bool is_right =
          version == (identity.kind == FileKind::beanstalkd_v7 ? kVersion : kVersionOfBeanstalkd14);
      if (is_right) return;
      if (version == 0) {
        // No server begins a file with zeros. They are damage, and not accepted.
        accepted_bytes_ = 0;
        offset_ = std::min<std::uint64_t>(find_nonzero(bytes, 0), std::min(kVersionBytes, end_));
      }
      if (offset_ > 0) damages_.push_back({.offset = 0, .bytes = offset_});
  }
}

const FileScan::Found* FileScan::next() {
  if (ended_) return nullptr;
  return identity_.kind == FileKind::checked ? next_checked() : next_legacy();
}

std::uint32_t FileScan::digest() const {
  if (identity_.kind == FileKind::checked) return digest_;
  return crc32c(0, bytes_.substr(0, static_cast<std::size_t>(accepted_bytes_)));
}

bool FileScan::ends_as_stated_by(const Signature& next) const {
  // Earlier versions stated no digest of a file of beanstalkd. In their own files they counted
  // lost records, too.
  const bool is_checked = kind() == FileKind::checked;
  const bool has_digest = is_checked || next.previous_digest != 0;
  return accepted_bytes_ == next.previous_bytes &&
         (!has_digest || digest() == next.previous_digest) &&
         (is_checked || records_ == next.previous_records);
}

bool FileScan::is_contradicted_by(const Signature& next) const {
  if (ends_as_stated_by(next)) return false;
  // A file that is undamaged and longer is another one, even if the stated end is within a record.
  if (kind() == FileKind::checked && all_.size() > next.previous_bytes) {
    FileScan whole(all_, identity_);
    whole.run_to_end();
    if (whole.accepted_bytes_ > next.previous_bytes && whole.damages_.empty()) return true;
  }
  const bool is_cut = !seal_ && accepted_bytes_ < next.previous_bytes;
  return damages_.empty() && tail_.bytes == 0 && !is_cut;
}

// Returns the damage between two offsets; `records`: number of lost records, 0: unknown. Each of
// them counts in `changes`, full records included, because compaction writes a job in its new
// state.
Damage FileScan::damage_between(std::uint64_t begin, std::uint64_t end,
                                std::uint32_t records) const {
  Damage damage{.offset = begin, .bytes = end - begin, .records = records};
  damage.changes = std::max<std::uint64_t>(damage.bytes / kShortRecordBytes, damage.bytes > 0);
  if (records > 0) damage.changes = std::min<std::uint64_t>(damage.changes, records);
  damage.looks_torn = looks_torn_between(begin, end);
  return damage;
}

bool FileScan::looks_torn_between(std::uint64_t begin, std::uint64_t end) const {
  return identity_.kind == FileKind::checked && looks_torn(bytes_, begin, end, identity_.seed);
}

// Checked files ---------------------------------------------------------------------------------

// Returns true if a later record with a valid header is at that offset. Sets found_, also for a
// seal. Inlined like accept(): calls would add a tenth to the time of reading a record.
[[gnu::always_inline]] inline bool FileScan::read_good_header(std::uint64_t offset) {
  const std::string_view rest = bytes_.substr(static_cast<std::size_t>(offset));
  return parse_record(rest, found_) && is_later(found_.number) &&
         header_fits(rest, found_, position_at(offset));
}

[[gnu::always_inline]] inline void FileScan::accept(const Parsed& parsed) {
  digest_ = crc32c(digest_, std::uint64_t{parsed.body_crc} << 32 | parsed.header_crc, {});
  records_ += 1 + (parsed.number - (records_ + 1)) % kRecordNumbers;
  if (may_have_mark(parsed.record)) marks_.add(parsed.record);
  offset_ += parsed.record.bytes();
  accepted_bytes_ = offset_;
}

const FileScan::Found* FileScan::next_checked() {
  for (;;) {
    const bool is_good = read_good_header(offset_);
    if (found_.record.id == kPseudoId && is_seal_at(offset_)) {
      end();
      return nullptr;
    }
    if (!is_good) {
      if (search_on()) continue;
      end();
      return nullptr;
    }
    found_.offset = offset_;
    found_.body_is_damaged = !body_fits(found_, position_at(offset_));
    found_.hole_in_front = std::exchange(hole_in_front_, std::nullopt);
    if (found_.body_is_damaged) {
      const std::uint64_t after = offset_ + found_.record.bytes();
      if (!found_.body_is_there || !has_records_from(after)) {
        // No whole record follows: a crash tore off the end while this body was written. If a hole
        // precedes the record, the torn end begins with the hole. Then the hole is no damage, and
        // its records do not count, because the next scan ends before it, too.
        if (found_.hole_in_front) {
          records_ -= damages_.back().records;
          damages_.pop_back();
        }
        end();
        return nullptr;
      }
      damages_.push_back({.offset = offset_,
                          .bytes = found_.record.bytes(),
                          .records = 1,
                          .looks_torn = looks_torn_between(offset_, after)});
    }
    accept(found_);
    return &found_;
  }
}

// Returns true if a whole record or the seal is at that offset or after it. A header alone does not
// suffice: it may belong to the torn end, and the next scan has to find the same end.
bool FileScan::has_records_from(std::uint64_t offset) {
  if (whole_record_at_ >= offset) return true;
  FileScan after = *this;
  after.offset_ = offset;
  ++after.records_;
  while (!after.is_seal_at(after.offset_)) {
    if (!after.read_good_header(after.offset_)) {
      if (after.search_on()) continue;
      return after.seal_.has_value();
    }
    if (!after.found_.body_is_there) return false;
    if (body_fits(after.found_, position_at(after.offset_))) {
      whole_record_at_ = after.offset_;
      return true;
    }
    after.accept(after.found_);
  }
  return true;
}

bool FileScan::is_seal_at(std::uint64_t offset) {
  seal_ = read_seal(bytes_.substr(static_cast<std::size_t>(offset)), position_at(offset));
  if (!seal_) return false;
  marks_.add(seal_->mark);
  if (seal_->records > records_) {
    damages_.push_back(damage_between(offset, offset, seal_->records - records_));
    records_ = seal_->records;
  }
  offset_ = accepted_bytes_ = offset + kShortRecordBytes;
  return true;
}

// Finds the next valid record or the seal after an unreadable stretch, and adds the damage. Returns
// false if no record follows.
bool FileScan::search_on() {
  const std::uint64_t begin = offset_;
  std::size_t at = static_cast<std::size_t>(begin);
  while (const auto found = find_checked(bytes_, at + 1, identity_.seed)) {
    at = *found;
    const std::uint32_t records_before = records_;
    if (is_seal_at(at)) {
      // is_seal_at() has added the missing records without their offset.
      const std::uint32_t missing = records_ - records_before;
      if (missing > 0) damages_.pop_back();
      damages_.push_back(damage_between(begin, at, missing));
      end();
      return false;
    }
    if (read_good_header(at)) {
      const std::uint32_t missing = (found_.number - (records_ + 1)) % kRecordNumbers;
      damages_.push_back(damage_between(begin, at, missing));
      records_ += missing;
      offset_ = at;
      hole_in_front_ = begin;
      return true;
    }
  }
  return false;
}

// Returns true if the number is later than that of the last record. Numbers wrap around, so half of
// them are later.
bool FileScan::is_later(std::uint32_t number) const {
  return (number - (records_ + 1)) % kRecordNumbers < kRecordNumbers / 2;
}

// Ends the scan and measures the tail.
void FileScan::end() {
  if (ended_) return;
  ended_ = true;
  const std::string_view after = bytes_.substr(static_cast<std::size_t>(accepted_bytes_),
                                               static_cast<std::size_t>(end_ - accepted_bytes_));
  const std::size_t last = after.find_last_not_of('\0');
  if (last != std::string_view::npos) {
    tail_ = damage_between(accepted_bytes_, accepted_bytes_ + last + 1, 0);
    // The zeros after the tail may be a lost part of it. After a seal nothing was written.
    tail_.looks_torn = identity_.kind == FileKind::checked && !seal_;
  }
}

// Files of beanstalkd -----------------------------------------------------------------------------
//
// They have no checksums, so the values of a record and the bytes after it are checked instead.

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
  // beanstalkd writes no pseudo-records.
  if (!parsed || parsed->record.id == kPseudoId) return std::nullopt;
  const Record& record = parsed->record;
  return LegacyRecord{*parsed, header_length + (record.is_full() ? record.body_bytes : 0)};
}

// Returns true if beanstalkd certainly wrote a record at that offset.
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

// Finds the next record that beanstalkd certainly wrote, and adds the damage before it. Returns
// false if there is none.
bool FileScan::search_on_in_legacy() {
  const std::uint64_t begin = offset_;
  std::uint64_t at = begin + 1;
  while (at + kShortRecordBytes <= end_) {
    if (bytes_[static_cast<std::size_t>(at)] == '\0') {
      // Limit of the zeros at the beginning of a record: 8 bytes of name length in version 5, and
      // up to 7 low bytes of the id.
      constexpr std::uint64_t kZerosInFront = 16;
      const std::size_t nonzero = find_nonzero(bytes_, static_cast<std::size_t>(at));
      if (nonzero >= end_) return false;
      if (nonzero > at + kZerosInFront) at = nonzero - kZerosInFront;
    }
    if (is_clear_at(at)) {
      for (std::uint64_t shift = kShiftsTried; shift > 0; --shift) {
        if (at + shift < bytes_.size() && is_clear_at(at + shift)) {
          at += shift;
          break;
        }
      }
      damages_.push_back(damage_between(begin, at, 0));
      offset_ = at;
      return true;
    }
    ++at;
  }
  return false;
}

}  // namespace haricot::binlog
