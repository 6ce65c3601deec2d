// Reads the bytes of one binlog file from front to back, checks them, and says what is missing.
//
// A checked file: each record has to fit its sums, its place and its number. Where one does not,
// the scan searches on, byte by byte, for the next that does; the gap in the numbers says how many
// were lost.
//
// A file of beanstalkd has no sums. A record counts there if it has the values that beanstalkd
// writes, and its body ends in CR LF. Where one does not, the scan searches on for the next that
// was also created in this century.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/format/record.hpp"

namespace haricot::binlog {

// What a loss of power took away, or damage: a disk keeps any of the sectors that were not synced.
// Files begin as zeros, and each write goes on where the one before it ended. So a sector that is
// lost has zeros from there on up to its end. Damage may look the same, but not often. And what was
// durable is damaged if it is lost, however it looks: the marks of later records tell how far the
// file was durable (folder_judgement.hpp).

// Whether a loss of power may have left these bytes of the file: a sector that has them ends in
// zeros, from the begin of the hole on if it is in that sector; or the file ends in front of them,
// or between them.
// Names have lengths, whose first byte is the only one that is lost of a record that begins at the
// end of a sector: the seed of the file tells of these.
bool looks_torn(std::string_view file, std::uint64_t begin, std::uint64_t end, std::uint32_t seed);

// Whether the signature and the header of a full record after it are zeros. They are written last
// where a large body comes first.
bool has_lost_its_head(std::string_view file);

// What the marks tell that were read of a file.
struct MarksRead {
  bool has_durable_past = false;    // By any.
  std::uint64_t durable_bytes = 0;  // The highest.
  bool has_some = false;
  bool lacks_some = false;  // Some records have a place for a mark, and none.

  void add(const std::optional<Mark>& mark);
  // Requires: it may have one. What has a deadline of its own there tells nothing.
  void add(const Record& record) {
    if (const auto mark = mark_of(record); mark || record.deadline_at == 0) add(mark);
  }
  // Earlier versions write none.
  bool are_of_earlier_version() const { return lacks_some && !has_some; }
};

// A stretch of a file that is no record, or a record that is not whole.
struct Damage {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint32_t records = 0;  // Lost for certain; 0 where nothing tells how many.
  std::uint64_t changes = 0;  // How many of what is lost may have been changes or deletions.
  bool looks_torn = false;    // A loss of power may have left it.
};

class FileScan {
 public:
  // `bytes` is the whole file, and outlives the scan and all records it gives. No record that ends
  // after `end` is given: a server that read the file before has given up what is there. In a file
  // of beanstalkd these bytes still say where a record in front of them ends. So each start reads
  // the same as the one that knew no end yet.
  FileScan(std::string_view bytes, const FileIdentity& identity,
           std::uint64_t end = ~std::uint64_t{0});

  FileKind kind() const { return identity_.kind; }
  const std::optional<Signature>& signature() const { return identity_.signature; }

  struct Found : Parsed {
    std::uint64_t offset = 0;
    bool body_is_damaged = false;  // The rest of the record is good.
    bool is_unproven = false;      // It has no sums, and stands after damage.
    // Where a stretch begins that is no record and ends here.
    std::optional<std::uint64_t> hole_in_front = {};
  };
  // The next record that is not damaged but, at most, in its body. Valid until the next call. Null:
  // the end, and everything below is final.
  const Found* next();
  // The same, for those whom the records do not concern.
  void run_to_end() {
    while (next() != nullptr) {
    }
  }

  // What was damaged in front of the last good record or the seal.
  const std::vector<Damage>& damages() const { return damages_; }
  // So far. The signature is no record.
  bool lacks_no_record() const {
    return damages_.empty() || (damages_.size() == 1 && damages_[0].offset < kFirstRecordOffset);
  }
  // How far the file was accepted: after its last good record or its seal.
  std::uint64_t accepted_bytes() const { return accepted_bytes_; }
  // What stands after that, up to the last byte that is not zero; no bytes: nothing. In the last
  // file of a folder this is what a crash tore off; in any other file, or after a seal, it is
  // damage.
  const Damage& tail() const { return tail_; }
  // How many records the file has, as far as their numbers tell (lost ones included).
  std::uint32_t records() const { return records_; }
  // CRC32C: of a checked file over the sums of its good records, in order; of a file of beanstalkd
  // over its accepted bytes. By it the next file knows this one.
  std::uint32_t digest() const;
  const std::optional<Seal>& seal() const { return seal_; }
  // Whether the file is as the next one says, which knows its end. Requires: the scan is at its
  // end, which is the one that the next file knows.
  bool is_as_told_by(const Signature& next) const;
  // Whether the next one was begun after another file: this one is not as it says, and no damage,
  // and no cut, explains that. Requires: the same.
  bool is_contradicted_by(const Signature& next) const;
  // What records and seal tell of the durability of the file. Of a checked one only.
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
  std::string_view bytes_;  // What of it may be looked at.
  std::uint64_t end_;       // No record reaches beyond it.
  FileIdentity identity_;
  std::optional<Seal> seal_;
  std::uint64_t offset_ = 0;
  std::uint64_t accepted_bytes_ = 0;
  std::uint64_t whole_record_at_ = 0;  // The last one that has_records_from() found.
  std::uint32_t records_ = 0;
  std::uint32_t digest_ = 0;
  std::optional<std::uint64_t> hole_in_front_;  // Of the next record.
  Found found_;
  MarksRead marks_;
  std::vector<Damage> damages_;
  Damage tail_;
  bool ended_ = false;
};

}  // namespace haricot::binlog
