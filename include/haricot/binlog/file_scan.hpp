// Reads the bytes of one binlog file from front to back, checks them, and says what is missing.
//
// A file with a signature is checked: each record has to fit its sums, its place and its number.
// Where one does not, the scan searches on, byte by byte, for the next that does; the gap in the
// numbers says how many were lost. A file without a signature was written by beanstalkd and has
// nothing to check by: it is read up to the first bytes that no server would have written. One
// whose signature is damaged is told from it by its records, if the folder's id is known.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "haricot/binlog/record.hpp"

namespace haricot::binlog {

enum class FileKind : std::uint8_t {
  checked,          // Ours.
  beanstalkd_v7,    // Version 7 without a signature.
  beanstalkd_v5,    // Of beanstalkd 1.4 to 1.9.
  empty,            // Nothing in it but zeros, or nothing at all.
  unknown_version,  // Nobody knows what it is; it must not be touched.
};

// A stretch of a file that could not be read.
struct Damage {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint32_t records = 0;  // Lost for certain; 0 where nothing tells how many.
};

class FileScan {
 public:
  // `bytes` is the whole file and outlives the scan and all records it gives. `store_id` is that of
  // the folder; 0: not known.
  FileScan(std::string_view bytes, std::uint64_t file_number, std::uint64_t store_id = 0);

  // Whether a record of beanstalkd stands where a file's first one does.
  static bool begins_like_legacy(std::string_view bytes);

  FileKind kind() const { return kind_; }
  // Of a checked file.
  const std::optional<Signature>& signature() const { return signature_; }

  struct Found {
    Record record;
    std::uint64_t offset = 0;
    bool body_is_damaged = false;  // The rest of the record is good.
  };
  // The next record that is not damaged but, at most, in its body. Nothing: the end, and everything
  // below is final.
  std::optional<Found> next();

  // What was damaged in front of the last good record or the seal.
  const std::vector<Damage>& damages() const { return damages_; }
  // How far the file was accepted: behind its last good record or its seal.
  std::uint64_t accepted_bytes() const { return accepted_bytes_; }
  // Bytes behind that, up to the last one that is not zero. In the last file of a folder this is
  // what a crash tore off; in any other file it is damage.
  std::uint64_t tail_bytes() const { return tail_bytes_; }
  // How many records the file has, as far as their numbers tell (lost ones included).
  std::uint32_t records() const { return records_; }
  // CRC32C over the sums of its good records, in order (Signature::previous_digest).
  std::uint32_t digest() const { return digest_; }
  const std::optional<Seal>& seal() const { return seal_; }

 private:
  std::optional<Found> next_checked();
  std::optional<Found> next_legacy();
  std::optional<Parsed> good_header_at(std::uint64_t offset) const;
  bool has_records_from(std::uint64_t offset);
  bool is_seal_at(std::uint64_t offset);
  bool recover_signature(std::uint64_t store_id);
  bool search_on();
  void accept(const Parsed& parsed);
  void end();
  Place place_at(std::uint64_t offset) const;
  bool is_later(std::uint32_t number) const;

  std::string_view bytes_;
  std::uint64_t file_number_;
  FileKind kind_ = FileKind::empty;
  std::optional<Signature> signature_;
  std::optional<Seal> seal_;
  std::uint64_t offset_ = 0;
  std::uint64_t accepted_bytes_ = 0;
  std::uint64_t tail_bytes_ = 0;
  std::uint64_t whole_record_at_ = 0;  // The last one that has_records_from() found.
  std::uint32_t records_ = 0;
  std::uint32_t digest_ = 0;
  std::vector<Damage> damages_;
  bool ended_ = false;
};

}  // namespace haricot::binlog
