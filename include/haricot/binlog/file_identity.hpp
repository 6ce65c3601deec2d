// What a file of the folder is: whose, of which format, and which one.
//
// One record must not decide this. If the signature is whole, it says what the file is. Otherwise
// the records do: all sums of a file of ours go back to one seed. So records that agree on a seed
// prove this seed, and the id of the folder tells which file has it.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "haricot/binlog/record.hpp"

namespace haricot::binlog {

// What a disk writes, or loses, as a whole.
inline constexpr std::size_t kDiskSectorBytes = 512;

enum class FileKind : std::uint8_t {
  checked,          // Ours.
  beanstalkd_v7,    // Version 7, and no record of ours in it.
  beanstalkd_v5,    // Of beanstalkd 1.4 to 1.9.
  empty,            // Nothing in it but zeros, or nothing at all.
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

// What is known of the folder, for files that do not say what they are.
struct FolderFacts {
  std::uint64_t store_id = 0;  // 0: not known.
  std::uint64_t lowest_number = 1;
  std::uint64_t highest_number = 1;
  // The first file whose signature says that it is of this folder. If the id was made anew, files
  // in front of it may be older than the id. 0: none.
  std::uint64_t known_from = 0;
};

// By the first record alone. Nothing if that does not tell: then identify() does.
std::optional<FileIdentity> identify_by_head(std::string_view bytes);
// By all records, if need be. `file_number` is that of its name. Reads the whole file where its
// head is damaged.
FileIdentity identify(std::string_view bytes, std::uint64_t file_number, const FolderFacts& folder);

// A file of ours of which nothing but its name tells which one it is.
FileIdentity identity_by_name(std::uint64_t file_number, const FolderFacts& folder);

// What the records of a file say against its signature.
struct Contradiction {
  FileIdentity by_records;
  // In how many sectors such records stand, and in how many those that agree with the signature,
  // which itself is one. What the name says counts like a sector.
  std::uint32_t sectors = 0;
  std::uint32_t sectors_against = 0;
};
// By its records alone, for a file whose signature says that it is of another place or folder: a
// signature is one sector, which may be the wrong one. Nothing: no records agree on another place.
std::optional<Contradiction> identify_against_signature(std::string_view bytes,
                                                        std::uint64_t file_number,
                                                        const FileIdentity& by_signature,
                                                        const FolderFacts& folder);

// Where the first record or seal stands, from `from` on, whose header fits that seed and its
// offset. Nothing: there is none.
std::optional<std::size_t> find_checked(std::string_view bytes, std::size_t from,
                                        std::uint32_t seed);
// The first byte from `from` on that is not zero; the size if there is none.
std::size_t find_nonzero(std::string_view bytes, std::size_t from);

}  // namespace haricot::binlog
