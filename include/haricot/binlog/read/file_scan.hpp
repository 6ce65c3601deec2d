// Scans the bytes of one binlog file from front to back, checks them, and reports what is missing.
//
// A file of haricotd: each record has to fit its checksums, its place and its number. After an
// invalid record the scan searches byte by byte for the next valid one; the gap in the numbers is
// the number of lost records.
//
// A file of beanstalkd has no checksums. A record counts if it has values that beanstalkd writes
// and its body ends in CR LF. After an invalid record the scan searches for the next one that was
// also created in this century.

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
// sequence, so a lost sector has zeros up to its end. Damage rarely looks the same. A hole in bytes
// that were durable is damage in any case; the marks of later records state how far the file was
// durable (folder_judgement.hpp).

// Returns true if a loss of power may have left these bytes of the file: one of their sectors is
// zero up to its end, from the first of these bytes on; or the file ends before or between them. If
// a record begins at the end of a sector, only the first byte of its name length may be lost;
// `seed`, the seed of the file, shows that.
bool looks_torn(std::string_view file, std::uint64_t begin, std::uint64_t end, std::uint32_t seed);

// Returns true if the signature and the header of a full record after it are zeros. They are
// written after a large body.
bool has_lost_its_head(std::string_view file);

// The marks that were read in a file.
struct MarksRead {
  bool has_durable_past = false;    // According to any mark.
  std::uint64_t durable_bytes = 0;  // Highest of all marks.
  bool has_some = false;
  bool lacks_some = false;  // A record has no mark, although it has a place for one.

  void add(const std::optional<Mark>& mark);
  // Requires: may_have_mark(). Ignores a record that has a deadline in the place of the mark.
  void add(const Record& record) {
    if (const auto mark = mark_of(record); mark || record.deadline_at == 0) add(mark);
  }
  // Returns true if the server was of an earlier version, which writes no marks.
  bool are_of_earlier_version() const { return lacks_some && !has_some; }
};

// A stretch of a file that is no record, or a damaged record.
struct Damage {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint32_t records = 0;  // Number of lost records; 0: unknown.
  std::uint64_t changes = 0;  // Maximum number of lost changes and deletions.
  bool looks_torn = false;    // A loss of power may have left it.
};

class FileScan {
 public:
  // `bytes`: the whole file; outlives the scan and its records. `end`: records that end after it
  // are ignored, because an earlier start has given them up. In a file of beanstalkd bytes after
  // `end` still delimit records before it, so each start reads the same.
  FileScan(std::string_view bytes, const FileIdentity& identity,
           std::uint64_t end = ~std::uint64_t{0});

  FileKind kind() const { return identity_.kind; }
  const std::optional<Signature>& signature() const { return identity_.signature; }

  struct Found : Parsed {
    std::uint64_t offset = 0;
    bool body_is_damaged = false;  // The rest of the record is good.
    bool is_unproven = false;      // It has no checksums, and follows damage.
    // Offset of a stretch that is no record and ends here.
    std::optional<std::uint64_t> hole_in_front = {};
  };
  // Returns the next record with a valid header; it is valid until the next call. Returns null at
  // the end; then all results below are final.
  const Found* next();
  // Scans the rest of the file without its records.
  void run_to_end() {
    while (next() != nullptr) {
    }
  }

  // Returns the damage before the last valid record or the seal.
  const std::vector<Damage>& damages() const { return damages_; }
  // Returns true if no record is lost so far. The signature is no record.
  bool is_complete() const {
    return damages_.empty() || (damages_.size() == 1 && damages_[0].offset < kFirstRecordOffset);
  }
  // Returns the offset after the last valid record or the seal.
  std::uint64_t accepted_bytes() const { return accepted_bytes_; }
  // Returns the bytes after accepted_bytes(), up to the last one that is not zero. In the newest
  // file of a folder a crash leaves them; in any other file, or after a seal, they are damage.
  const Damage& tail() const { return tail_; }
  // Returns the number of records, including lost ones as far as the numbers show them.
  std::uint32_t records() const { return records_; }
  // Returns the digest by which the next file identifies this one. A CRC32C: of a file of haricotd
  // over the checksums of its valid records, in order; of a file of beanstalkd over its accepted
  // bytes.
  std::uint32_t digest() const;
  const std::optional<Seal>& seal() const { return seal_; }
  // Returns true if the file ended as the next file states. Requires: the scan has ended, at the
  // length that the next file states.
  bool is_as_told_by(const Signature& next) const;
  // Returns true if the next file was begun after another file of this number: neither damage nor a
  // cut explains the difference. Requires: as is_as_told_by().
  bool is_contradicted_by(const Signature& next) const;
  // Returns the marks of records and seal. A file of beanstalkd has none.
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

  bool is_torn_by_looks(std::uint64_t begin, std::uint64_t end) const;
  Damage lost(std::uint64_t begin, std::uint64_t end, std::uint32_t records) const;

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
