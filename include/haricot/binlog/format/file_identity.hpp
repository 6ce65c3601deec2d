// What a file of the folder is: whose, of which format, and which one.
//
// A whole signature says it. A file whose signature is damaged is the one of its name if anything
// in it fits that place, which the id of the folder tells. Anything else is a guess, and nobody
// guesses here: such a file is unidentified.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "haricot/binlog/format/record.hpp"

namespace haricot::binlog {

// What a disk writes, or loses, as a whole.
inline constexpr std::size_t kDiskSectorBytes = 512;

enum class FileKind : std::uint8_t {
  checked,          // Ours.
  beanstalkd_v7,    // Version 7, and no record of ours in it.
  beanstalkd_v5,    // Of beanstalkd 1.4 to 1.9.
  empty,            // Nothing in it but zeros, or nothing at all.
  unidentified,     // Ours, but nothing tells which file it is.
  unknown_version,  // Nobody knows what it is; it must not be touched.
};

struct FileIdentity {
  FileKind kind = FileKind::empty;
  // Of a checked file.
  std::optional<Signature> signature;  // Nothing if it is damaged.
  std::uint32_t seed = 0;
  std::uint64_t number = 0;    // Of the name that it was written under. 0: nothing tells.
  std::uint64_t store_id = 0;  // Of the folder that it was written in. 0: nothing tells.
};

// What is known of the place of a file that does not say what it is.
struct FilePlace {
  std::uint64_t number = 0;      // N of its name.
  std::uint64_t store_id = 0;    // Of the folder. 0: not known.
  bool follows_ours = false;     // A file with a lower number says that it is of this folder.
  bool was_begun_by_us = false;  // The note, or the seal of the file in front, says so.
};

// By the first record alone. `front`: the first bytes of the file, as many as can be had. Nothing
// if that does not tell: then identify() does.
std::optional<FileIdentity> identify_by_head(std::string_view front, std::uint64_t file_bytes);
// By all records, where the head does not tell.
FileIdentity identify(std::string_view bytes, const FilePlace& place);
// Of a file whose signature says that it is of another place than its name. A signature is one
// sector, which a disk may have written to the wrong place: then nothing after it fits it, and what
// is there fits the name.
FileIdentity identify_displaced(std::string_view bytes, const FileIdentity& by_signature,
                                const FilePlace& place);
// A file of ours of which nothing but its name tells which one it is. Requires: the folder is
// known.
FileIdentity identity_by_name(const FilePlace& place);

// Where the first record or seal stands, from `from` on, whose header fits that seed and its
// offset. Nothing: there is none.
std::optional<std::size_t> find_checked(std::string_view bytes, std::size_t from,
                                        std::uint32_t seed);
// The seed of the first full record from `from` on whose two sums agree on one, so that it is whole
// in any case; `from` is set to where it stands. Nothing: there is none.
std::optional<std::uint32_t> find_proven(std::string_view bytes, std::size_t& from);
// The first byte from `from` on that is not zero; the size if there is none.
std::size_t find_nonzero(std::string_view bytes, std::size_t from);

}  // namespace haricot::binlog
