// Makes the bytes of binlog files for tests, record by record.

#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/crc32c.hpp"
#include "haricot/base/little_endian.hpp"
#include "haricot/binlog/format/record.hpp"
#include "haricot/binlog/read/file_scan.hpp"

namespace haricot::binlog {

inline Record full_record(std::uint64_t id, std::string_view tube_name, std::string_view body) {
  Record record;
  record.tube_name = tube_name;
  record.id = id;
  record.priority = static_cast<std::uint32_t>(id * 7);
  record.delay_ns = 5'000'000'000;
  record.ttr_ns = 60'000'000'000;
  record.body_bytes = static_cast<std::uint32_t>(body.size());
  record.created_at = 1'700'000'000'123'456'789;
  record.deadline_at = 1'700'000'005'123'456'789;
  record.counts = {1, 2, 3, 4, 5};
  record.state = RecordState::delayed;
  record.body = body;
  return record;
}

inline Record change_record(std::uint64_t id, RecordState state) {
  Record record;
  record.id = id;
  record.ttr_ns = 60'000'000'000;
  record.created_at = 1'700'000'000'123'456'789;  // All records of the job have the same.
  record.state = state;
  return record;
}

// Scans a file with that number, in a folder without other facts.
inline FileScan scan_of(std::string_view bytes, std::uint64_t file_number) {
  return FileScan(bytes, identify(bytes, {.number = file_number}));
}

// A checksummed file under construction.
class LogMaker {
 public:
  explicit LogMaker(std::uint64_t file_number, std::uint64_t salt = 0x1234567890abcdef)
      : LogMaker(
            Signature{.salt = salt, .next_id = 1, .file_number = file_number, .store_id = 99}) {}
  explicit LogMaker(const Signature& signature)
      : seed_(seed_of(signature.salt, signature.file_number)) {
    bytes_.resize(kFirstRecordOffset);
    store_little_endian(bytes_.data(), kVersion);
    write_signature(signature, bytes_.data() + kVersionBytes);
  }

  // Returns the offset of the record.
  std::size_t add(const Record& record) {
    const std::size_t offset = bytes_.size();
    const Position position{seed_, offset, ++number_ % kRecordNumbers};
    const std::uint32_t sum = record.is_full() ? body_crc(position, record.body) : 0;
    bytes_.resize(offset + header_bytes(record.tube_name.size()));
    write_header(record, position, sum, bytes_.data() + offset);
    bytes_.append(record.body);
    offsets_.push_back(offset);
    return offset;
  }

  void seal(bool clean_exit = true) {
    const std::size_t offset = bytes_.size();
    bytes_.resize(offset + kShortRecordBytes);
    write_seal(Seal{.bytes = offset, .records = number_, .clean_exit = clean_exit},
               Position{seed_, offset, 0}, bytes_.data() + offset);
  }

  void pad(std::size_t zeros) { bytes_.append(zeros, '\0'); }

  std::string& bytes() { return bytes_; }
  const std::vector<std::size_t>& offsets() const { return offsets_; }

 private:
  std::uint32_t seed_;
  std::uint32_t number_ = 0;
  std::string bytes_;
  std::vector<std::size_t> offsets_;
};

}  // namespace haricot::binlog
