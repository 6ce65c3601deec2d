// The bytes of a binlog record: pure functions between values and bytes.
//
// The format is version 7 of beanstalkd, with checksums and a record number in the padding of its
// 80-byte block, which beanstalkd ignores. All integers are little-endian.
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
// back, and a record that is duplicated or shifted, fail the check. Source: docs/binlog.md.
//
// Salt and file number come first in each sum, so their contribution is one number for the whole
// file, its seed. A CRC can be computed backwards: each record yields the seed that its sums fit.

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
inline constexpr std::uint32_t kBodyBytesMax = (1U << 30) + 2;  // Including its CR LF.
inline constexpr std::uint32_t kRecordNumbers = 1U << 24;       // Record numbers count modulo this.
// Id of records without a job.
inline constexpr std::uint64_t kPseudoId = ~std::uint64_t{0};
// Returns true if a record with that id is about a job.
constexpr bool is_id_of_job(std::uint64_t id) {
  return id != kPseudoId;
}

// Bytes of the shortest record of a job: a name of one byte, and an empty body with its CR LF.
inline constexpr std::uint64_t kSmallestJobBytes = kShortRecordBytes + 1 + 2;
// Returns an upper bound of the ids given out while a file of that size is written; smaller files
// count as the default size. Puts that fail use ids, too.
constexpr std::uint64_t ids_of_a_file(std::uint64_t file_bytes) {
  constexpr std::uint64_t kFileBytesMin = 10 * 1024 * 1024;
  constexpr std::uint64_t kIdsLeftOut = 1 << 16;
  const std::uint64_t bytes = file_bytes < kFileBytesMin ? kFileBytesMin : file_bytes;
  return kIdsLeftOut + bytes / kSmallestJobBytes;
}

enum class RecordState : std::uint8_t { deleted, ready, reserved, buried, delayed };

// A record as a value.
struct Record {
  std::string_view tube_name;  // Empty: a change of a known job.
  std::uint64_t id = 0;
  std::uint32_t priority = 0;
  std::int64_t delay_ns = 0;
  std::int64_t ttr_ns = 0;
  std::uint32_t body_bytes =
      0;  // Including its CR LF. In a change: the value of the job's full record, or 0.
  std::int64_t created_at = 0;            // Wall clock, nanoseconds since 1970.
  std::int64_t deadline_at = 0;           // Wall clock: when a delayed job gets ready.
  std::array<std::uint32_t, 5> counts{};  // reserves, timeouts, releases, buries, kicks
  RecordState state = RecordState::ready;
  std::string_view body;  // Including its CR LF. Only with a name.

  bool is_full() const { return !tube_name.empty(); }
  std::size_t bytes() const {
    return kShortRecordBytes + tube_name.size() + (is_full() ? std::size_t{body_bytes} : 0);
  }
};

// Position of a record, which its checksums include.
struct Position {
  std::uint32_t seed = 0;    // Seed of the file: see seed_of().
  std::uint64_t offset = 0;  // Offset of the record in the file.
  std::uint32_t number = 0;  // Number of the record in the file, modulo kRecordNumbers.
};

// Durability when a record was written: after a loss of power it distinguishes bytes that were not
// durable from damaged ones. It is in the record of a ready job, in a deletion and in the seal, in
// the field of the deadline, which beanstalkd ignores there.
struct Mark {
  // True if all files before were durable; then the durable bytes of this file, else 0.
  bool has_durable_past = false;
  std::uint64_t durable_bytes = 0;
  // Number of records of text directly in front of this one that belong to it.
  std::uint32_t text_records = 0;
};
inline constexpr std::uint64_t kDurableBytesEnd = std::uint64_t{1} << 47;

// Returns the contribution of salt and file number to the sums of records.
std::uint32_t seed_of(std::uint64_t salt, std::uint64_t file_number);

// Returns the length of everything before the body.
constexpr std::size_t header_bytes(std::size_t name_bytes) {
  return kShortRecordBytes + name_bytes;
}

// Writes name length, name and block. `body_crc` is from body_crc(), 0 without a body. Omits the
// mark if the record has no place for it, or if it is null, like earlier versions. Requires: room
// for header_bytes(name).
void write_header(const Record& record, const Position& position, std::uint32_t body_crc, char* to,
                  const Mark* mark = nullptr);
// may_have_mark() returns true if a record of ours has a place for a mark. mark_of() returns the
// mark; nothing for a record of an earlier version.
bool may_have_mark(const Record& record);
std::optional<Mark> mark_of(const Record& record);
// Returns BC. The body is in one or two pieces, so that its CR LF may be elsewhere.
std::uint32_t body_crc(const Position& position, std::string_view body,
                       std::string_view after = {});
// Returns BC, given crc32c() of the body.
std::uint32_t body_crc_by_sum(const Position& position, std::uint32_t sum, std::uint64_t body_bytes,
                              std::string_view after);

// Parses the record at the beginning of `bytes` without checking its sums: name, block, and the
// body if it is complete. Returns nothing if the bytes cannot be a record: too few, or impossible
// values. `body_is_there` is false if the bytes end before the end of the body.
struct Parsed {
  Record record;
  std::uint32_t header_crc = 0;
  std::uint32_t body_crc = 0;
  std::uint32_t number = 0;
  bool body_is_there = false;
};
std::optional<Parsed> parse_record(std::string_view bytes);
// Parses in place. Returns false if there is no record; then `parsed` is undefined. Requires:
// `parsed` is new, or the bytes that it was parsed from still exist. Most records have the tube of
// the record before, whose name need not be checked again.
bool parse_record(std::string_view bytes, Parsed& parsed);
// Parses the format of beanstalkd 1.4 to 1.9, which has no sums: 8 bytes of name length, times in
// microseconds, 77 bytes of block. Sets `header_length` to the bytes before the body.
std::optional<Parsed> parse_record_v5(std::string_view bytes, std::size_t& header_length);

// Returns true if the header at the beginning of `bytes` belongs at this place. Ignores the place's
// record number, which is in the header. Requires: parse_record() found one.
bool header_fits(std::string_view bytes, const Parsed& parsed, const Position& position);
bool body_fits(const Parsed& parsed, const Position& position);

// Return the seed of the file that a record belongs to, if it was written at that offset and is
// whole: by its header, and by its body. Two equal seeds prove each other. Requires: parse_record()
// found the record; for the second, a full one with its body.
std::uint32_t seed_by_header(std::string_view bytes, const Parsed& parsed, std::uint64_t offset);
std::uint32_t seed_by_body(const Parsed& parsed, std::uint64_t offset);

// Returns true if a record has values that beanstalkd writes: whole seconds of delay and TTR in
// their range, a body that ends in CR LF. Requires: parse_record() found it.
bool has_values_of_beanstalkd(const Parsed& parsed);
// Checks for a time of creation in this century as well: for bytes at any offset.
bool is_clearly_of_beanstalkd(const Parsed& parsed);

// Pseudo-records: records with an id that no job has, which beanstalkd skips ---------------------

inline constexpr std::uint32_t kRunsEnd = 1 << 24;

// Bit in the id of a folder, which is random otherwise. It is set if the folder got a new id
// although it had files of ours, because none of them stated the former id. Those files do not fit
// the new id.
inline constexpr std::uint64_t kIdMadeAnew = std::uint64_t{1} << 63;

// Last epoch. Each server that opens a folder with a fence gets a higher epoch than any server had
// there before, so two servers can be ordered. The run of such a server is run_of_epoch().
inline constexpr std::uint32_t kEpochLast = 0xfeffffff;
// Returns the run of an epoch: never 0, because epoch_after() skips epochs with that run.
constexpr std::uint32_t run_of_epoch(std::uint32_t epoch) {
  return epoch % kRunsEnd;
}
// Returns true if it is the run of an epoch from `first` to `last`.
constexpr bool is_run_of_epochs(std::uint32_t run, std::uint32_t first, std::uint32_t last) {
  return (run - run_of_epoch(first)) % kRunsEnd <= last - first;
}
// Requires: below kEpochLast.
constexpr std::uint32_t epoch_after(std::uint32_t epoch) {
  return run_of_epoch(epoch + 1) != 0 ? epoch + 1 : epoch + 2;
}

// The first record of every file.
struct Signature {
  std::uint64_t salt = 0;         // Different for each file: see salt_of().
  std::uint64_t next_id = 0;      // The first id that may be given out from here on.
  std::uint64_t file_number = 0;  // N of binlog.N
  std::uint64_t store_id = 0;     // Equal in all files of a folder: see kIdMadeAnew.
  // Random, below kRunsEnd: equal in all files that one server began between its start and its end.
  // 0: written by a version without runs.
  std::uint32_t run = 0;
  // Epoch of the server that began the file (see kEpochLast); 0: none. With an epoch, the run is
  // run_of_epoch() of it.
  std::uint32_t epoch = 0;
  std::uint32_t records_lost = 0;  // Number of records known to be lost so far.
  // The oldest file that was needed when this one was begun, itself included. 0: written by a
  // version without it, which does not state the number of the file before either.
  std::uint32_t oldest_needed = 0;
  std::uint32_t previous_number = 0;  // Number of the file before. 0: there was none.
  std::uint64_t previous_bytes = 0;  // Its accepted length: its torn end is no damage. 0: in doubt.
  std::uint32_t previous_records = 0;  // Number of its records.
  std::uint32_t previous_digest = 0;   // See FileScan::digest().

  bool states_neighbours() const { return oldest_needed != 0; }
  // Returns true if it states the end of the file of that number.
  bool states_end_of(std::uint64_t number) const {
    const bool is_before =
        states_neighbours() ? previous_number == number : file_number == number + 1;
    return previous_bytes != 0 && is_before;
  }
};

// The last record of a finished file.
struct Seal {
  std::uint64_t bytes = 0;  // Length of the file up to the seal.
  std::uint32_t records = 0;
  bool clean_exit = false;  // Nothing was under way: the server was stopped.
  // Copy of the signature's field. 0: written by a version without it.
  std::uint64_t store_id = 0;
  std::uint64_t file_number = 0;
  // As in the signature, at the end of the file.
  std::uint32_t oldest_needed = 0;
  std::optional<Mark> mark = {};  // Nothing: written by an earlier version.
};

// Returns the salt of a file. It is derived from the folder's id, so that a file with a damaged
// signature can be read by means of any other file's signature.
std::uint64_t salt_of(std::uint64_t store_id, std::uint64_t file_number);

void write_signature(const Signature& signature, char* to);  // kShortRecordBytes
void write_seal(const Seal& seal, const Position& position, char* to);
// Returns nothing if the bytes are no signature, or their sum is wrong. `bytes` begins after the
// file's version. The signature states the file that it was written for.
std::optional<Signature> read_signature(std::string_view bytes);
// Returns true if a signature is there, sound or damaged: one of its two marks suffices.
bool looks_like_signature(std::string_view bytes);
std::optional<Seal> read_seal(std::string_view bytes, const Position& position);
// Returns the seed that a seal at that offset fits, whole or not; nothing if no seal is there.
std::optional<std::uint32_t> seed_by_seal(std::string_view bytes, std::uint64_t offset);

// A record among the others: from here on, files before that number are not needed.
Record needed_from(std::uint64_t file_number);
std::optional<std::uint64_t> needed_from(const Record& record);

}  // namespace haricot::binlog
