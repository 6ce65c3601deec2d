// Names of the files in a folder, and the identity of each: its folder, its format, and its number.
//
// A whole signature states the identity. A file with a damaged signature is the one of its name if
// anything in it fits that place, which the id of the folder determines. Anything else would be a
// guess; such a file is unidentified.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "haricot/binlog/format/record.hpp"

namespace haricot::binlog {

// binlog.N
std::string binlog_file_name(std::uint64_t number);
// Name of a file before it is begun, which beanstalkd does not read.
std::string spare_name(std::uint64_t number);
// Names of files that nothing removes: the copy of a file that was not read completely, the torn
// end of a file, and a file of another folder or name. `serial` distinguishes copies of one file.
std::string damaged_name(std::uint64_t number, std::uint64_t serial);
std::string torn_name(std::uint64_t number, std::uint64_t serial);
std::string aside_name(std::uint64_t number, std::uint64_t serial);

// The highest N that beanstalkd can read, and the last one with which a folder is opened.
inline constexpr std::uint64_t kFileNumberMax = 2147483647;
inline constexpr std::uint64_t kFileNumberLast = 2147000000;

// Returns the N of binlog.N; nothing for another name, or if N is no number of a file.
std::optional<std::uint64_t> binlog_file_number(std::string_view name);

// Bytes that a disk writes, or loses, as a whole.
inline constexpr std::size_t kDiskSectorBytes = 512;

enum class FileKind : std::uint8_t {
  checked,          // Written by haricotd.
  beanstalkd_v7,    // Version 7, without a record of haricotd.
  beanstalkd_v5,    // Written by beanstalkd 1.4 to 1.9.
  empty,            // No bytes, or only zeros.
  unidentified,     // Written by haricotd, with nothing that identifies it.
  unknown_version,  // Unknown content; it must not be touched.
};

struct FileIdentity {
  FileKind kind = FileKind::empty;
  // The following fields are set for a checked file only.
  std::optional<Signature> signature;  // Nothing if it is damaged.
  std::uint32_t seed = 0;
  std::uint64_t number = 0;    // Number of the name that it was written under; 0: unknown.
  std::uint64_t store_id = 0;  // Id of the folder that it was written in; 0: unknown.
};

// Known facts about the place of a file that does not identify itself.
struct FilePlace {
  std::uint64_t number = 0;      // N of its name.
  std::uint64_t store_id = 0;    // Id of the folder; 0: unknown.
  bool follows_ours = false;     // A file with a lower number states that it is of this folder.
  bool was_begun_by_us = false;  // The note, or the seal of the file before, says so.
};

// Identifies a file by its first record alone. `front`: the first bytes of the file, as many as
// there are. Returns nothing if they do not suffice: then use identify().
std::optional<FileIdentity> identify_by_head(std::string_view front, std::uint64_t file_bytes);
// Identifies a file by all its records.
FileIdentity identify(std::string_view bytes, const FilePlace& place);
// Identifies a file whose signature names another place than its name. A signature is one sector,
// which a disk may have written to the wrong place: then no record fits the signature, and some
// record fits the name.
FileIdentity identify_displaced(std::string_view bytes, const FileIdentity& by_signature,
                                const FilePlace& place);
// Identifies a file of ours by its name alone. Requires: the folder is known.
FileIdentity identity_by_name(const FilePlace& place);

// Returns the first offset, from `from` on, of a record or seal whose header fits that seed and its
// offset. Returns nothing if there is none.
std::optional<std::size_t> find_checked(std::string_view bytes, std::size_t from,
                                        std::uint32_t seed);
// Returns the seed of the first full record, from `from` on, whose two sums agree, which proves it
// whole; sets `from` to its offset. Returns nothing if there is none.
std::optional<std::uint32_t> find_proven(std::string_view bytes, std::size_t& from);
// Returns the offset of the first byte, from `from` on, that is not zero; the size if there is
// none.
std::size_t find_nonzero(std::string_view bytes, std::size_t from);

}  // namespace haricot::binlog
