#include "haricot/binlog/format/file_identity.hpp"

#include <algorithm>

#include "haricot/base/little_endian.hpp"
#include "haricot/base/number.hpp"

namespace haricot::binlog {

std::string binlog_file_name(std::uint64_t number) {
  return "binlog." + std::to_string(number);
}

std::string spare_name(std::uint64_t number) {
  return binlog_file_name(number) + ".tmp";
}

std::string damaged_name(std::uint64_t number, std::uint64_t serial) {
  return binlog_file_name(number) + ".damaged." + std::to_string(serial);
}

std::string torn_name(std::uint64_t number, std::uint64_t serial) {
  return binlog_file_name(number) + ".torn." + std::to_string(serial);
}

std::string aside_name(std::uint64_t number, std::uint64_t serial) {
  return binlog_file_name(number) + ".aside." + std::to_string(serial);
}

std::optional<std::uint64_t> binlog_file_number(std::string_view name) {
  constexpr std::string_view kPrefix = "binlog.";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  const std::optional<std::uint64_t> number = read_number(name);
  const bool good = number && *number > 0 && name[0] != '0' && *number <= kFileNumberMax;
  return good ? number : std::nullopt;
}

namespace {

// A record begins with at most four zeros of its name length and seven of its id, so only the last
// bytes of a stretch of zeros can be the beginning of one.
constexpr std::size_t kZerosInFront = 11;

std::uint32_t version_of(std::string_view bytes) {
  return bytes.size() < kVersionBytes ? 0 : load_little_endian<std::uint32_t>(bytes.data());
}

// Returns the next offset at which a record may begin, after zeros; the size if there is none.
std::size_t next_begin(std::string_view bytes, std::size_t at) {
  if (at + kShortRecordBytes > bytes.size()) return bytes.size();
  if (bytes[at] != '\0') return at;
  const std::size_t nonzero = find_nonzero(bytes, at);
  if (nonzero == bytes.size()) return nonzero;
  return nonzero > at + kZerosInFront ? nonzero - kZerosInFront : at;
}

// Parses the record at the beginning of these bytes in a file of that version of beanstalkd.
std::optional<Parsed> parse_legacy(FileKind kind, std::string_view bytes) {
  std::size_t header_length = 0;
  return kind == FileKind::beanstalkd_v5 ? parse_record_v5(bytes, header_length)
                                         : parse_record(bytes);
}

// Returns true if a file of that version of beanstalkd begins with these bytes, after its version.
bool begins_like(FileKind kind, std::string_view first, bool is_all) {
  if (find_nonzero(first, 0) == first.size()) return is_all;  // A file without records.
  // The rest of a damaged signature looks like a change of a job, but not like one with a time.
  if (looks_like_signature(first)) return false;
  std::optional<Parsed> parsed = parse_legacy(kind, first);
  if (parsed && !parsed->body_is_there && !is_all) {
    parsed->body_is_there = true;  // Beyond the bytes at hand.
    parsed->record.body = "\r\n";
  }
  return parsed && is_clearly_of_beanstalkd(*parsed);
}

// Returns true if records prove that a file is ours, though of another place. Records that
// beanstalkd has copied from our files each prove another seed.
bool is_proven_ours(std::string_view bytes) {
  std::size_t at = kVersionBytes;
  const auto first = find_proven(bytes, at);
  if (!first) return false;
  ++at;
  const auto second = find_proven(bytes, at);
  return !second || *second == *first;
}

// Returns the offset of the first record that beanstalkd certainly wrote: a full one, or a change.
std::size_t find_clear_record(FileKind kind, std::string_view bytes, bool is_full) {
  for (std::size_t at = kVersionBytes; at + kShortRecordBytes <= bytes.size(); ++at) {
    const std::optional<Parsed> parsed = parse_legacy(kind, bytes.substr(at));
    const bool is_clear = parsed && is_clearly_of_beanstalkd(*parsed);
    if (is_clear && parsed->record.is_full() == is_full) return at;
  }
  return bytes.size();
}

// Determines the kind by the records, because a version may be damaged. Returns nothing if a full
// record is needed and there is none.
std::optional<FileKind> legacy_kind(std::string_view bytes, bool needs_full) {
  const std::uint32_t version = version_of(bytes);
  // Changes count only if there is no full record: zeros in front of one easily look like its part.
  for (const bool is_full : {true, false}) {
    const std::size_t v7 = find_clear_record(FileKind::beanstalkd_v7, bytes, is_full);
    const std::size_t v5 = find_clear_record(FileKind::beanstalkd_v5, bytes, is_full);
    if (v7 < v5) return FileKind::beanstalkd_v7;
    if (v5 < v7) return FileKind::beanstalkd_v5;
    if (is_full && needs_full && v7 == bytes.size()) return std::nullopt;
  }
  if (version == kVersion || version == 0) return FileKind::beanstalkd_v7;
  if (version == kVersionOfBeanstalkd14) return FileKind::beanstalkd_v5;
  return FileKind::unknown_version;
}

FileIdentity identity_of_kind(FileKind kind) {
  FileIdentity identity;
  identity.kind = kind;
  return identity;
}

}  // namespace

std::size_t find_nonzero(std::string_view bytes, std::size_t from) {
  return std::min(bytes.find_first_not_of('\0', from), bytes.size());
}

std::optional<FileIdentity> identify_by_head(std::string_view front, std::uint64_t file_bytes) {
  const bool is_all = front.size() == file_bytes;
  const std::uint32_t version = version_of(front);
  if (version == 0 && is_all && find_nonzero(front, 0) == front.size()) return FileIdentity{};
  if (front.size() < kVersionBytes) return std::nullopt;
  const std::string_view first = front.substr(kVersionBytes);
  if (const auto signature = read_signature(first)) {
    return FileIdentity{.kind = FileKind::checked,
                        .signature = signature,
                        .seed = seed_of(signature->salt, signature->file_number),
                        .number = signature->file_number,
                        .store_id = signature->store_id};
  }
  FileKind kind = FileKind::unknown_version;
  if (version == kVersion) kind = FileKind::beanstalkd_v7;
  if (version == kVersionOfBeanstalkd14) kind = FileKind::beanstalkd_v5;
  if (kind == FileKind::unknown_version || !begins_like(kind, first, is_all)) return std::nullopt;
  return identity_of_kind(kind);
}

FileIdentity identity_by_name(const FilePlace& place) {
  return FileIdentity{.kind = FileKind::checked,
                      .signature = {},
                      .seed = seed_of(salt_of(place.store_id, place.number), place.number),
                      .number = place.number,
                      .store_id = place.store_id};
}

FileIdentity identify(std::string_view bytes, const FilePlace& place) {
  if (const auto identity = identify_by_head(bytes, bytes.size())) return *identity;
  const FileIdentity by_name = identity_by_name(place);
  const bool is_folder_known = place.store_id != 0;
  if (is_folder_known && find_checked(bytes, kVersionBytes, by_name.seed)) return by_name;
  if (is_proven_ours(bytes)) return identity_of_kind(FileKind::unidentified);
  // Some bytes of its records may look like records of beanstalkd. The version decides.
  if (version_of(bytes) == kVersionOfFork) return identity_of_kind(FileKind::unknown_version);
  // Not one record is whole. Remains of our records must not count as beanstalkd's: a part of a
  // change looks like a deletion.
  const bool has_marks = bytes.size() > kVersionBytes && looks_like_signature(bytes.substr(4));
  if (!has_marks) {
    const auto kind = legacy_kind(bytes, place.follows_ours && version_of(bytes) == 0);
    const bool is_ours = !kind || (*kind != FileKind::unknown_version && place.was_begun_by_us);
    if (!is_ours) return identity_of_kind(*kind);
  }
  return is_folder_known ? by_name : identity_of_kind(FileKind::unidentified);
}

FileIdentity identify_displaced(std::string_view bytes, const FileIdentity& by_signature,
                                const FilePlace& place) {
  const FileIdentity by_name = identity_by_name(place);
  const bool is_stray = place.store_id != 0 &&
                        !find_checked(bytes, kDiskSectorBytes, by_signature.seed) &&
                        find_checked(bytes, kDiskSectorBytes, by_name.seed);
  return is_stray ? by_name : by_signature;
}

std::optional<std::size_t> find_checked(std::string_view bytes, std::size_t from,
                                        std::uint32_t seed) {
  for (std::size_t at = next_begin(bytes, from); at < bytes.size();
       at = next_begin(bytes, at + 1)) {
    const std::string_view rest = bytes.substr(at);
    const std::optional<Parsed> parsed = parse_record(rest);
    if (parsed && header_fits(rest, *parsed, Position{seed, at, 0})) return at;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> find_proven(std::string_view bytes, std::size_t& from) {
  for (std::size_t at = next_begin(bytes, from); at < bytes.size();
       at = next_begin(bytes, at + 1)) {
    const std::string_view rest = bytes.substr(at);
    const std::optional<Parsed> parsed = parse_record(rest);
    if (!parsed || !parsed->body_is_there || !parsed->record.is_full()) continue;
    const std::uint32_t seed = seed_by_header(rest, *parsed, at);
    if (seed_by_body(*parsed, at) != seed) continue;
    from = at;
    return seed;
  }
  return std::nullopt;
}

}  // namespace haricot::binlog
