// Scans the bytes of one binlog file from front to back, checks its records, and finds damage.
//
// In a file of haricotd each record has to fit its checksums, its place and its number. After an
// invalid record the scan searches byte by byte for the next valid one. The gap in their numbers is
// the number of lost records.
//
// A file of beanstalkd has no checksums. A record counts if it has values that beanstalkd writes
// and its body ends in CR LF. After an invalid record the scan searches for the next one that was
// also created in this century.
//
// A hole is a stretch that is no record and has a valid record or the seal after it. The tail is
// the stretch after the last valid record or the seal. A stretch is torn if a loss of power
// explains it; otherwise it is damage.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/format/record.hpp"

namespace haricot::binlog {

// A loss of power may take any sector that was not synced. Files begin as zeros and are written in
// sequence, so a lost sector is zero from its first lost byte to its end. Damage rarely looks the
// same. A hole in bytes that were durable is always damage. The marks of later records state how
// many bytes were durable (folder_judgement.hpp).

// Returns true if a loss of power may have left the bytes from `begin` to `end` as they are:
//
//   - the file ends before `end`, or
//   - the head of the file is lost (has_lost_its_head()) and the bytes begin in it, or
//   - a sector is zero up to its end, from `begin` or from its own beginning on, or
//   - the first four bytes of a sector are zero, and a large body may follow them.
//
// If `begin` is in the last four bytes of a sector, zeros there may be the beginning of a change.
// They count as lost only if a full record with another name length fits its checksum there. `seed`
// is the seed of the file.
bool looks_torn(std::string_view file, std::uint64_t begin, std::uint64_t end, std::uint32_t seed);

// Returns true if version, signature and the header of a full record after them are zeros. A crash
// leaves that in front of a large body, because they are written after the body.
bool has_lost_its_head(std::string_view file);

// The marks that were read in a file.
struct MarksRead {
  bool has_durable_past = false;    // True if any mark states it.
  std::uint64_t durable_bytes = 0;  // Highest of all marks.
  bool has_some = false;
  bool lacks_some = false;  // A record or the seal has no mark, but a place for one.

  void add(const std::optional<Mark>& mark);
  // Adds the mark of a record. Ignores a record that has a deadline in the place of the mark.
  // Requires: may_have_mark(record).
  void add(const Record& record) {
    if (const auto mark = mark_of(record); mark || record.deadline_at == 0) add(mark);
  }
  // Returns true if the server was of an earlier version, which writes no marks.
  bool are_of_earlier_version() const { return lacks_some && !has_some; }
};

// A hole, the tail, or a damaged record. `bytes` is 0 if only the seal shows that records before it
// are missing.
struct Damage {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint32_t records = 0;  // Number of lost records; 0: unknown.
  std::uint64_t changes = 0;  // Maximum number of lost changes and deletions.
  bool looks_torn = false;    // A loss of power may have left it; settle_holes() decides.
};

class FileScan {
 public:
  // `bytes`: the whole file; outlives the scan and its records. `end`: records that end after it
  // are ignored, because an earlier start discarded them. In a file of beanstalkd the bytes after
  // `end` still help to recognize records that end before it, so that each start reads the same
  // records.
  FileScan(std::string_view bytes, const FileIdentity& identity,
           std::uint64_t end = ~std::uint64_t{0});

  FileKind kind() const { return identity_.kind; }
  const std::optional<Signature>& signature() const { return identity_.signature; }

  struct Found : Parsed {
    std::uint64_t offset = 0;
    bool body_is_damaged = false;  // The rest of the record is valid.
    bool is_unproven = false;      // It has no checksums, and follows damage.
    // Offset of the hole that ends where the record begins.
    std::optional<std::uint64_t> hole_in_front = {};
  };
  // Returns the next record with a valid header; the pointer is valid until the next call. Returns
  // null at the end; then all results below are final.
  const Found* next();
  // Scans the rest of the file and ignores its records.
  void run_to_end() {
    while (next() != nullptr) {
    }
  }

  // Returns the holes and the damaged records, torn ones included, without the tail.
  const std::vector<Damage>& damages() const { return damages_; }
  // Returns true if no record is lost so far. A lost signature does not count.
  bool is_complete() const {
    return damages_.empty() || (damages_.size() == 1 && damages_[0].offset < kFirstRecordOffset);
  }
  // Returns the offset after the last valid record or the seal.
  std::uint64_t accepted_bytes() const { return accepted_bytes_; }
  // Returns the bytes after accepted_bytes(), up to the last one that is not zero. They are damage,
  // or half a record that a crash left; the caller decides.
  const Damage& tail() const { return tail_; }
  // Returns the number of records, including lost ones as far as the numbers show them.
  std::uint32_t records() const { return records_; }
  // Returns the digest by which the next file identifies this one. It is a CRC32C: over the
  // checksums of the records in order in a file of haricotd, over the accepted bytes in a file of
  // beanstalkd.
  std::uint32_t digest() const;
  const std::optional<Seal>& seal() const { return seal_; }
  // Returns true if the file ends as the next file states. Requires: the scan is complete, and its
  // `end` is the length that the next file states.
  bool ends_as_stated_by(const Signature& next) const;
  // Returns true if the file differs from the statement of the next file although it is neither
  // damaged nor cut off: the next file was begun after another file of this number. Requires: as
  // for ends_as_stated_by().
  bool is_contradicted_by(const Signature& next) const;
  // Returns the marks of the records and of the seal. A file of beanstalkd has none.
  const MarksRead& marks() const { return marks_; }

 private:
  const Found* next_checked();
  const Found* next_legacy();
  bool read_good_header(std::uint64_t offset);
  bool has_records_from(std::uint64_t offset);
  bool is_seal_at(std::uint64_t offset);
  bool search_on();
  void accept(const Parsed& parsed);
  void end();
  Position position_at(std::uint64_t offset) const { return Position{identity_.seed, offset, 0}; }
  bool is_later(std::uint32_t number) const;

  struct LegacyRecord {
    Parsed parsed;
    std::uint64_t bytes = 0;
  };
  std::optional<LegacyRecord> legacy_record_at(std::uint64_t offset) const;
  bool is_clear_at(std::uint64_t offset) const;
  bool search_on_in_legacy();

  bool looks_torn_between(std::uint64_t begin, std::uint64_t end) const;
  Damage damage_between(std::uint64_t begin, std::uint64_t end, std::uint32_t records) const;

  std::string_view all_;    // The whole file.
  std::string_view bytes_;  // The part that is scanned.
  std::uint64_t end_;       // Limit of the ends of records.
  FileIdentity identity_;
  std::optional<Seal> seal_;
  std::uint64_t offset_ = 0;
  std::uint64_t accepted_bytes_ = 0;
  std::uint64_t whole_record_at_ = 0;  // Offset that has_records_from() found last.
  std::uint32_t records_ = 0;
  std::uint32_t digest_ = 0;
  std::optional<std::uint64_t> hole_in_front_;  // See Found.
  Found found_;
  MarksRead marks_;
  std::vector<Damage> damages_;
  Damage tail_;
  bool ended_ = false;
};

}  // namespace haricot::binlog
