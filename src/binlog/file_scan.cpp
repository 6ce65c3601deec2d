#include "haricot/binlog/file_scan.hpp"

#include <algorithm>

#include "haricot/base/crc32c.hpp"
#include "haricot/base/little_endian.hpp"

namespace haricot::binlog {
namespace {

std::uint32_t add_to_digest(std::uint32_t digest, std::uint32_t sum) {
  char bytes[4];
  store_little_endian(bytes, sum);
  return crc32c(digest, std::string_view(bytes, sizeof bytes));
}

// The first byte from `from` on that is not zero; the size if there is none.
std::size_t find_nonzero(std::string_view bytes, std::size_t from) {
  return std::min(bytes.find_first_not_of('\0', from), bytes.size());
}

}  // namespace

FileScan::FileScan(std::string_view bytes, std::uint64_t file_number, std::uint64_t store_id)
    : bytes_(bytes), file_number_(file_number) {
  const bool has_version = bytes.size() >= kVersionBytes;
  const std::uint32_t version = has_version ? load_little_endian<std::uint32_t>(bytes.data()) : 0;
  if (version == 0 && find_nonzero(bytes, 0) == bytes.size()) {
    ended_ = true;  // A file that was made and not written to.
    return;
  }
  if (has_version) signature_ = read_signature(bytes.substr(kVersionBytes), file_number);
  if (signature_) {
    kind_ = FileKind::checked;
    offset_ = accepted_bytes_ = kFirstRecordOffset;
    if (version != kVersion) damages_.push_back({0, kVersionBytes, 0});
    return;
  }
  if (store_id != 0 && recover_signature(store_id)) return;
  offset_ = accepted_bytes_ = kVersionBytes;
  if (version == 0) {
    // No server begins a file so: what stood here is lost, and with it the way to read the rest.
    kind_ = FileKind::beanstalkd_v7;
    accepted_bytes_ = offset_ = 0;
    end();
  } else if (version == kVersion) {
    kind_ = FileKind::beanstalkd_v7;
  } else if (version == kVersionOfBeanstalkd14) {
    kind_ = FileKind::beanstalkd_v5;
  } else {
    kind_ = FileKind::unknown_version;
    ended_ = true;
  }
}

bool FileScan::begins_like_legacy(std::string_view bytes) {
  const std::string_view first = bytes.substr(std::min(kVersionBytes, bytes.size()));
  return parse_record(first) && !looks_like_signature(first);
}

// Whether the file is one of the folder with that id, though its signature cannot be read. Its
// records tell: their sums fit the salt that it must have had. A file that begins with a record of
// beanstalkd is not looked through.
bool FileScan::recover_signature(std::uint64_t store_id) {
  if (begins_like_legacy(bytes_)) return false;
  signature_ = Signature{.salt = salt_of(store_id, file_number_), .store_id = store_id};
  signature_->file_number = file_number_;
  kind_ = FileKind::checked;
  offset_ = accepted_bytes_ = std::min<std::uint64_t>(kFirstRecordOffset, bytes_.size());
  if (good_header_at(offset_) || search_on()) {
    // What is missing in front of the first record that was found is counted by its number.
    if (damages_.empty()) damages_.push_back({0, kFirstRecordOffset, 0});
    damages_.front().bytes += damages_.front().offset;
    damages_.front().offset = 0;
    return true;
  }
  signature_.reset();
  seal_.reset();
  damages_.clear();
  kind_ = FileKind::empty;
  records_ = 0;
  tail_bytes_ = 0;
  ended_ = false;
  return false;
}

std::optional<FileScan::Found> FileScan::next() {
  if (ended_) return std::nullopt;
  return kind_ == FileKind::checked ? next_checked() : next_legacy();
}

// Checked files ---------------------------------------------------------------------------------

std::optional<FileScan::Found> FileScan::next_checked() {
  for (;;) {
    if (is_seal_at(offset_)) {
      end();
      return std::nullopt;
    }
    const std::optional<Parsed> parsed = good_header_at(offset_);
    if (!parsed) {
      if (search_on()) continue;
      end();
      return std::nullopt;
    }
    if (!parsed->body_is_there) {
      // The file ends inside the body.
      end();
      return std::nullopt;
    }
    const Found found{parsed->record, offset_, !body_fits(*parsed, place_at(offset_))};
    if (found.body_is_damaged) {
      if (!has_records_from(offset_ + parsed->record.bytes())) {
        end();  // A crash came while the body was written: it is the end that was torn off.
        return std::nullopt;
      }
      damages_.push_back({offset_, parsed->record.bytes(), 1});
    }
    accept(*parsed);
    return found;
  }
}

// Whether a record that is whole, or the seal, stands there or anywhere behind. A header alone is
// not enough: it may be the next one of what was torn off, and whoever reads the file again, up to
// where it was accepted, must come to the same end.
bool FileScan::has_records_from(std::uint64_t offset) {
  if (whole_record_at_ >= offset) return true;
  FileScan behind = *this;
  behind.offset_ = offset;
  ++behind.records_;
  while (!behind.is_seal_at(behind.offset_)) {
    const std::optional<Parsed> parsed = behind.good_header_at(behind.offset_);
    if (!parsed) {
      if (behind.search_on()) continue;
      return behind.seal_.has_value();
    }
    if (!parsed->body_is_there) return false;
    if (body_fits(*parsed, place_at(behind.offset_))) {
      whole_record_at_ = behind.offset_;
      return true;
    }
    behind.accept(*parsed);
  }
  return true;
}

// A header at that offset which fits its place and is not one that was read before.
std::optional<Parsed> FileScan::good_header_at(std::uint64_t offset) const {
  const std::string_view rest = bytes_.substr(static_cast<std::size_t>(offset));
  std::optional<Parsed> parsed = parse_record(rest);
  if (!parsed || !is_later(parsed->number)) return std::nullopt;
  if (!header_fits(rest, *parsed, place_at(offset))) return std::nullopt;
  return parsed;
}

bool FileScan::is_seal_at(std::uint64_t offset) {
  seal_ = read_seal(bytes_.substr(static_cast<std::size_t>(offset)), place_at(offset));
  if (!seal_) return false;
  if (seal_->records > records_) {
    damages_.push_back({offset, 0, seal_->records - records_});
    records_ = seal_->records;
  }
  offset_ = accepted_bytes_ = offset + kShortRecordBytes;
  return true;
}

// Finds the next good record or the seal behind what cannot be read, and notes the gap. False:
// there is none, and what follows is no record at all.
bool FileScan::search_on() {
  const std::uint64_t begin = offset_;
  // A record begins with at most four zeros of its name length and seven of its id; so in a stretch
  // of zeros only its last bytes can be the begin of one.
  constexpr std::size_t kZerosInFront = 11;
  std::size_t at = static_cast<std::size_t>(begin) + 1;
  while (at + kShortRecordBytes <= bytes_.size()) {
    if (bytes_[at] == '\0') {
      const std::size_t nonzero = find_nonzero(bytes_, at);
      if (nonzero == bytes_.size()) return false;
      if (nonzero > at + kZerosInFront) at = nonzero - kZerosInFront;
    }
    const std::uint32_t records_before = records_;
    if (is_seal_at(at)) {
      // is_seal_at() has counted what is missing; here is where it was.
      const std::uint32_t lost = records_ - records_before;
      if (lost > 0) damages_.pop_back();
      damages_.push_back({begin, at - begin, lost});
      end();
      return false;
    }
    if (const std::optional<Parsed> parsed = good_header_at(at)) {
      const std::uint32_t lost = (parsed->number - (records_ + 1)) % kRecordNumbers;
      damages_.push_back({begin, at - begin, lost});
      records_ += lost;
      offset_ = at;
      return true;
    }
    ++at;
  }
  return false;
}

// Half of all numbers count as later, the other half as before.
bool FileScan::is_later(std::uint32_t number) const {
  return (number - (records_ + 1)) % kRecordNumbers < kRecordNumbers / 2;
}

void FileScan::accept(const Parsed& parsed) {
  digest_ = add_to_digest(add_to_digest(digest_, parsed.header_crc), parsed.body_crc);
  records_ += 1 + (parsed.number - (records_ + 1)) % kRecordNumbers;
  offset_ += parsed.record.bytes();
  accepted_bytes_ = offset_;
}

Place FileScan::place_at(std::uint64_t offset) const {
  return Place{signature_->salt, file_number_, offset, 0};
}

// Files of beanstalkd ---------------------------------------------------------------------------

std::optional<FileScan::Found> FileScan::next_legacy() {
  const std::string_view rest = bytes_.substr(static_cast<std::size_t>(offset_));
  std::size_t header_length = 0;
  std::optional<Parsed> parsed;
  if (kind_ == FileKind::beanstalkd_v5) {
    parsed = parse_record_v5(rest, header_length);
  } else {
    parsed = parse_record(rest);
    if (parsed) header_length = header_bytes(parsed->record.tube_name.size());
  }
  if (!parsed || !parsed->body_is_there) {
    end();
    return std::nullopt;
  }
  const Found found{parsed->record, offset_, false};
  offset_ += header_length + (parsed->record.is_full() ? parsed->record.body_bytes : 0);
  accepted_bytes_ = offset_;
  ++records_;
  return found;
}

// Measures what is behind the accepted part.
void FileScan::end() {
  if (ended_) return;
  ended_ = true;
  const std::string_view tail = bytes_.substr(static_cast<std::size_t>(accepted_bytes_));
  const std::size_t last = tail.find_last_not_of('\0');
  tail_bytes_ = last == std::string_view::npos ? 0 : last + 1;
}

}  // namespace haricot::binlog
