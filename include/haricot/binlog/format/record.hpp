// The bytes of a binlog record, and nothing else: pure functions between values and bytes.
//
// The format is that of beanstalkd, version 7, with what it does not look at put to use: the
// padding of its 80-byte block carries checksums and a record number. All integers are
// little-endian.
//
//   file     int32 version (7)
//            signature                     a pseudo-record that beanstalkd skips (see Signature)
//            records, back to back
//            seal                          another pseudo-record, once the file is finished
//            zeros, or the end of the file
//
//   record   u32 name length               0: a change to a known job; the record has 84 bytes
//            name                          of the tube
//            block, 80 bytes:
//              +0  u64 id                  +8  u32 priority        +12 u32 HC
//              +16 i64 delay, ns           +24 i64 TTR, ns
//              +32 u32 body size, its CR LF included               +36 u32 BC
//              +40 i64 created at, wall ns +48 i64 deadline at, wall ns
//              +56 5 x u32 reserves, timeouts, releases, buries, kicks
//              +76 u8 state                +77 u24 record number in the file, from 1
//            body, CR LF                   only with a name
//
//   HC = CRC32C of salt, file number, offset in the file, name length, name, the block with HC = 0
//   BC = CRC32C of salt, file number, offset, body and CR LF; 0 without a body
//
// Salt, file number and offset make a record valid in one place only: an old sector that comes
// back, a record that stands twice or is shifted fails its check. Source: docs/binlog.md.
//
// Salt and file number come first in each sum, so what they contribute is one number for the whole
// file, its seed. A CRC can be computed backwards: each record tells the seed that its sums fit.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace haricot::binlog {

inline constexpr std::uint32_t kVersion = 7;
inline constexpr std::uint32_t kVersionOfBeanstalkd14 = 5;  // beanstalkd 1.4 to 1.9
inline constexpr std::uint32_t kVersionOfFork = 8;          // A fork of beanstalkd. Not read.
inline constexpr std::size_t kVersionBytes = 4;
inline constexpr std::size_t kNameLengthBytes = 4;
inline constexpr std::size_t kBlockBytes = 80;
inline constexpr std::size_t kShortRecordBytes = kNameLengthBytes + kBlockBytes;
inline constexpr std::size_t kFirstRecordOffset = kVersionBytes + kShortRecordBytes;
inline constexpr std::uint32_t kBodyBytesMax = (1U << 30) + 2;  // With its CR LF.
inline constexpr std::uint32_t kRecordNumbers = 1U << 24;       // They count modulo this.
// The id of records that stand for no job.
inline constexpr std::uint64_t kPseudoId = ~std::uint64_t{0};

// The shortest record of a job: a name of one byte, and a body of nothing but its CR LF.
inline constexpr std::uint64_t kSmallestJobBytes = kShortRecordBytes + 1 + 2;
// How many ids are given out at most while a file of that size is written. It counts as one of the
// default size at least. Ids are also used up by puts that fail.
constexpr std::uint64_t ids_of_a_file(std::uint64_t file_bytes) {
  constexpr std::uint64_t kFileBytesMin = 10 * 1024 * 1024;
  constexpr std::uint64_t kIdsLeftOut = 1 << 16;
  const std::uint64_t bytes = file_bytes < kFileBytesMin ? kFileBytesMin : file_bytes;
  return kIdsLeftOut + bytes / kSmallestJobBytes;
}

enum class RecordState : std::uint8_t { deleted, ready, reserved, buried, delayed };

// A record as a value.
struct Record {
  std::string_view tube_name;  // Empty: a change to a job that is known.
  std::uint64_t id = 0;
  std::uint32_t priority = 0;
  std::int64_t delay_ns = 0;
  std::int64_t ttr_ns = 0;
  std::uint32_t body_bytes =
      0;  // With its CR LF. In a change: what the job's full record had, or 0.
  std::int64_t created_at = 0;            // Wall clock, nanoseconds since 1970.
  std::int64_t deadline_at = 0;           // The same: when a delayed job gets ready.
  std::array<std::uint32_t, 5> counts{};  // reserves, timeouts, releases, buries, kicks
  RecordState state = RecordState::ready;
  std::string_view body;  // With its CR LF. Only with a name.

  bool is_full() const { return !tube_name.empty(); }
  std::size_t bytes() const {
    return kShortRecordBytes + tube_name.size() + (is_full() ? std::size_t{body_bytes} : 0);
  }
};

// Where a record stands, which its checksums are about.
struct Position {
  std::uint32_t seed = 0;    // Of the file: see seed_of().
  std::uint64_t offset = 0;  // Of the record in the file.
  std::uint32_t number = 0;  // Of the record in the file, modulo kRecordNumbers.
};

// What a server knew when it wrote a record: after a loss of power it tells what was not durable
// yet from what is damaged. The record of a ready job, a deletion and the seal have it, where
// delayed jobs have their deadline and beanstalkd looks at nothing.
struct Mark {
  // Whether all files before were durable, and how many bytes of this one: 0 if those were not.
  bool has_durable_past = false;
  std::uint64_t durable_bytes = 0;
  // How many records of text stand directly in front of this one and belong to it.
  std::uint32_t text_records = 0;
};
inline constexpr std::uint64_t kDurableBytesEnd = std::uint64_t{1} << 47;

// What the salt and the number of a file contribute to the sums of its records.
std::uint32_t seed_of(std::uint64_t salt, std::uint64_t file_number);

// The length of everything before the body.
constexpr std::size_t header_bytes(std::size_t name_bytes) {
  return kShortRecordBytes + name_bytes;
}

// Writes name length, name and block. `body_crc` is from body_crc(), 0 without a body. The mark is
// left out where the record has no place for it; null: as earlier versions did. Requires: room for
// header_bytes(name).
void write_header(const Record& record, const Position& position, std::uint32_t body_crc, char* to,
                  const Mark* mark = nullptr);
// Whether a record of ours has a place for a mark; and the mark, which one of an earlier version
// does not have.
bool may_have_mark(const Record& record);
std::optional<Mark> mark_of(const Record& record);
// BC. The body in one or two pieces, so that its CR LF need not stand after it.
std::uint32_t body_crc(const Position& position, std::string_view body,
                       std::string_view after = {});
// The same where only crc32c() of the body is known.
std::uint32_t body_crc_by_sum(const Position& position, std::uint32_t sum, std::uint64_t body_bytes,
                              std::string_view after);

// Reads what stands at the begin of `bytes` without checking its sums: name, block, and the body if
// it is there whole. Nothing if the bytes cannot be a record: too few, or a value that no record
// has. `body_is_there` false: the bytes end before the body does.
struct Parsed {
  Record record;
  std::uint32_t header_crc = 0;
  std::uint32_t body_crc = 0;
  std::uint32_t number = 0;
  bool body_is_there = false;
};
std::optional<Parsed> parse_record(std::string_view bytes);
// The same, in place. False: nothing, and `parsed` says nothing. Requires: `parsed` is new, or the
// bytes that it was read from are still there. Most records follow one of the same tube, whose name
// need not be looked at again.
bool parse_record(std::string_view bytes, Parsed& parsed);
// The same for the format of beanstalkd 1.4 to 1.9, which has no sums: 8 bytes of name length,
// times in microseconds, 77 bytes of block. `length` is set to the bytes of its header.
std::optional<Parsed> parse_record_v5(std::string_view bytes, std::size_t& header_length);

// Whether the header that stands at the begin of `bytes` belongs at this place. The place's record
// number does not matter: it is in the header. Requires: parse_record() found one.
bool header_fits(std::string_view bytes, const Parsed& parsed, const Position& position);
bool body_fits(const Parsed& parsed, const Position& position);

// The seed of the file to which a record belongs, if its header is whole and it was written at that
// offset; and the same as its body tells it. Two that agree prove each other. Requires:
// parse_record() found the record; for the second, a full one with its body there.
std::uint32_t seed_by_header(std::string_view bytes, const Parsed& parsed, std::uint64_t offset);
std::uint32_t seed_by_body(const Parsed& parsed, std::uint64_t offset);

// Whether a record of beanstalkd has values that it writes: whole seconds of delay and TTR in their
// range, a body that ends in CR LF. Requires: parse_record() found it.
bool has_values_of_beanstalkd(const Parsed& parsed);
// The same, and a time of creation in this century: for bytes that stand anywhere.
bool is_clearly_of_beanstalkd(const Parsed& parsed);

// Pseudo-records: records of an id that no job has, which beanstalkd skips.
// -----------------------------

inline constexpr std::uint32_t kRunsEnd = 1 << 24;

// The id of a folder is random but for this bit. It is set if the folder had files of ours when it
// got the id, but none of them told the id that it had before. Such files fit no file of the id.
inline constexpr std::uint64_t kIdMadeAnew = std::uint64_t{1} << 63;

// Each server that opens a folder with a fence gets an epoch: a number that no server had there
// before. So it tells which of two servers came later, and is a run that is not random.
inline constexpr std::uint32_t kEpochLast = 0xfeffffff;
// The part of an epoch that is its run: never 0, because an epoch whose run would be is left out.
constexpr std::uint32_t run_of_epoch(std::uint32_t epoch) {
  return epoch % kRunsEnd;
}
// Whether it is the run of an epoch from `first` to `last`.
constexpr bool is_run_of_epochs(std::uint32_t run, std::uint32_t first, std::uint32_t last) {
  return (run - run_of_epoch(first)) % kRunsEnd <= last - first;
}
// Requires: below kEpochLast.
constexpr std::uint32_t epoch_after(std::uint32_t epoch) {
  return run_of_epoch(epoch + 1) != 0 ? epoch + 1 : epoch + 2;
}

// The first record of every file.
struct Signature {
  std::uint64_t salt = 0;         // Another one for each file: see salt_of().
  std::uint64_t next_id = 0;      // The first id that may be given out from here on.
  std::uint64_t file_number = 0;  // N of binlog.N
  std::uint64_t store_id = 0;     // The same in all files of a folder: see kIdMadeAnew.
  // Random, below kRunsEnd: the same in all files that one server began between its start and its
  // end. 0: written by a version that did not tell.
  std::uint32_t run = 0;
  // Of the server that began the file: see kEpochLast. 0: it had none. If it had one, the run is
  // run_of_epoch() of it.
  std::uint32_t epoch = 0;
  std::uint32_t records_lost = 0;  // Known to be lost so far.
  // The oldest file that was needed when this one was begun, itself included. 0: written by a
  // version that did not tell; then the number of the file before is not told either.
  std::uint32_t oldest_needed = 0;
  std::uint32_t previous_number = 0;   // Of the file before. 0: there was none.
  std::uint64_t previous_bytes = 0;    // Its accepted length, so that what is torn off there is
                                       // never taken for damage later. 0: its end is in doubt.
  std::uint32_t previous_records = 0;  // In it.
  std::uint32_t previous_digest = 0;   // See FileScan::digest().

  bool tells_of_its_neighbours() const { return oldest_needed != 0; }
  // Whether it tells how the file of that number ended.
  bool knows_end_of(std::uint64_t number) const {
    const bool is_before =
        tells_of_its_neighbours() ? previous_number == number : file_number == number + 1;
    return previous_bytes != 0 && is_before;
  }
};

// The last record of a file that was finished.
struct Seal {
  std::uint64_t bytes = 0;  // Of the file, up to the seal.
  std::uint32_t records = 0;
  bool clean_exit = false;  // Nothing was under way: the server was stopped.
  // As in the signature, of which this is the copy. 0: written by a version that made none.
  std::uint64_t store_id = 0;
  std::uint64_t file_number = 0;
  // As in the signature, as it was at the end.
  std::uint32_t oldest_needed = 0;
  std::optional<Mark> mark = {};  // Nothing: written by an earlier version.
};

// The salt of a file of a folder. It is made from the folder's id, so that a file whose signature
// is damaged can still be read by the signature of any other.
std::uint64_t salt_of(std::uint64_t store_id, std::uint64_t file_number);

void write_signature(const Signature& signature, char* to);  // kShortRecordBytes
void write_seal(const Seal& seal, const Position& position, char* to);
// Nothing if the bytes are none, or their sum is wrong. `bytes` begins after the file's version.
// The signature says which file it was written for.
std::optional<Signature> read_signature(std::string_view bytes);
// Whether a signature stands there, sound or damaged: one of its two marks is enough.
bool looks_like_signature(std::string_view bytes);
std::optional<Seal> read_seal(std::string_view bytes, const Position& position);
// The seed that a seal at that offset fits, whole or not; nothing if no seal stands there.
std::optional<std::uint32_t> seed_by_seal(std::string_view bytes, std::uint64_t offset);

// A record among the others: from here on, files before that number are not needed.
Record needed_from(std::uint64_t file_number);
std::optional<std::uint64_t> needed_from(const Record& record);

}  // namespace haricot::binlog
