#include "haricot/binlog/file_identity.hpp"

#include <algorithm>
#include <unordered_map>

#include "haricot/base/little_endian.hpp"

namespace haricot::binlog {
namespace {

// So many sums that agree, and none against them, are proof enough not to read on.
constexpr std::uint32_t kSumsToStop = 32;
constexpr std::uint32_t kSectorsToStop = 4;
// Seeds of single records, most of them no records at all, are not collected without end.
constexpr std::size_t kSeedsMax = 1 << 16;
// How many names are tried for a file that does not know its own.
constexpr std::uint64_t kNamesTried = 1 << 20;
// A record begins with at most four zeros of its name length and seven of its id; so in a stretch
// of zeros only its last bytes can be the begin of one.
constexpr std::size_t kZerosInFront = 11;

std::uint32_t version_of(std::string_view bytes) {
  return bytes.size() < kVersionBytes ? 0 : load_little_endian<std::uint32_t>(bytes.data());
}

// What stands at the begin of these bytes in a file of that version of beanstalkd.
std::optional<Parsed> parse_legacy(FileKind kind, std::string_view bytes) {
  std::size_t header_length = 0;
  return kind == FileKind::beanstalkd_v5 ? parse_record_v5(bytes, header_length)
                                         : parse_record(bytes);
}

// Whether a file of that version of beanstalkd begins with these bytes, its version left out.
bool begins_like(FileKind kind, std::string_view first) {
  if (find_nonzero(first, 0) == first.size()) return true;  // One without a record.
  std::size_t header_length = 0;
  const std::optional<Parsed> parsed =
      kind == FileKind::beanstalkd_v5 ? parse_record_v5(first, header_length) : parse_record(first);
  // The rest of a damaged signature looks like the change of a job, but not of one with a time.
  return parsed && is_clearly_of_beanstalkd(*parsed) && !looks_like_signature(first);
}

// The seed on which the records of a file agree. Only ours do: beanstalkd copies the sums of our
// records into its own, where each of them leads to a seed of its own.
//
// A disk writes a sector to the wrong place as a whole. So of two seeds the one wins whose records
// stand in more sectors, however many records one sector has.
class SeedSearch {
 public:
  explicit SeedSearch(std::string_view bytes) : bytes_(bytes) {}

  // What the signature says counts as the word of one record.
  void count_signature(std::uint32_t seed) { add(seed, 1, kVersionBytes); }
  // What the name says counts like a sector, if at least one record says the same.
  void count_name(std::uint32_t seed) { seed_of_name_ = seed; }

  // The seed that most agree on. Copies that beanstalkd has made whole are proven, each by another
  // seed.
  std::optional<std::uint32_t> run() {
    look_at_all();
    if (best_.sums < 2 || 2 * best_.sums <= proven_sums_) return std::nullopt;
    return best_seed_;
  }
  // The same without those that agree on this one. That of the name is preferred.
  std::optional<std::uint32_t> run_without(std::uint32_t seed) {
    look_at_all();
    if (seed_of_name_ && *seed_of_name_ != seed && sums_.contains(*seed_of_name_)) {
      return *seed_of_name_;
    }
    std::optional<std::uint32_t> best;
    for (const auto& [other, votes] : sums_) {
      if (other == seed || votes.sums < 2) continue;
      if (!best || votes > sums_[*best]) best = other;
    }
    return best;
  }
  std::uint32_t sectors_of(std::uint32_t seed) const {
    const auto found = sums_.find(seed);
    return found == sums_.end() ? 0 : found->second.sectors;
  }

 private:
  struct Votes {
    std::uint32_t sums = 0;
    std::uint32_t sectors = 0;
    std::size_t last_sector = 0;

    bool operator>(const Votes& other) const {
      return sectors != other.sectors ? sectors > other.sectors : sums > other.sums;
    }
  };

  bool is_decided() const { return best_.sums >= kSumsToStop && best_.sectors >= kSectorsToStop; }

  void look_at_all() {
    std::size_t at = kVersionBytes;
    while (at + kShortRecordBytes <= bytes_.size() && !is_decided()) at += look_at(at);
  }

  // Returns how far to go on.
  std::size_t look_at(std::size_t at) {
    const std::string_view rest = bytes_.substr(at);
    if (const auto seed = seed_by_seal(rest, at)) {
      add(*seed, 1, at);
      return kShortRecordBytes;
    }
    const std::optional<Parsed> parsed = parse_record(rest);
    if (!parsed || !parsed->body_is_there) {
      const std::size_t nonzero = find_nonzero(rest, 0);
      return nonzero > kZerosInFront ? nonzero - kZerosInFront : 1;
    }
    const std::uint32_t seed = seed_by_header(rest, *parsed, at);
    if (!parsed->record.is_full()) {
      add(seed, 1, at);
      return 1;
    }
    if (seed_by_body(*parsed, at) != seed) {
      if (sums_.contains(seed)) add(seed, 1, at);
      return 1;
    }
    add(seed, 1, at);
    add(seed, 1, at + parsed->record.bytes() - 1);
    proven_sums_ += 2;
    return parsed->record.bytes();
  }

  void add(std::uint32_t seed, std::uint32_t sums, std::size_t at) {
    if (sums_.size() >= kSeedsMax && !sums_.contains(seed)) return;
    const auto [found, is_new] = sums_.try_emplace(seed);
    Votes& votes = found->second;
    if (is_new && seed == seed_of_name_) votes = {.sums = 1, .sectors = 1, .last_sector = 0};
    votes.sums += sums;
    const std::size_t sector = at / kDiskSectorBytes + 1;
    if (votes.last_sector != sector) ++votes.sectors;
    votes.last_sector = sector;
    if (best_seed_ == seed || votes > best_) {
      best_ = votes;
      best_seed_ = seed;
    }
  }

  std::string_view bytes_;
  std::unordered_map<std::uint32_t, Votes> sums_;
  std::uint32_t best_seed_ = 0;
  Votes best_;
  std::uint32_t proven_sums_ = 0;
  std::optional<std::uint32_t> seed_of_name_;
};

// Of the file that this folder has under that number. Requires: its id is known.
std::uint32_t seed_of_file(const FolderFacts& folder, std::uint64_t number) {
  return seed_of(salt_of(folder.store_id, number), number);
}

// Which file of the folder has that seed; 0: none that can be there.
std::uint64_t number_of_seed(std::uint32_t seed, std::uint64_t file_number,
                             const FolderFacts& folder) {
  const auto has_seed = [&](std::uint64_t number) { return seed_of_file(folder, number) == seed; };
  if (has_seed(file_number)) return file_number;
  const std::uint64_t first =
      folder.lowest_number - std::min<std::uint64_t>(folder.lowest_number - 1, 1000);
  const std::uint64_t last = std::min(folder.highest_number + 64, first + kNamesTried);
  for (std::uint64_t number = first; number <= last; ++number) {
    if (has_seed(number)) return number;
  }
  return 0;
}

// Whether a file of that number was begun when the folder had its id. The first file that says so
// may be removed in time, so it decides only where the id itself does not.
bool is_younger_than_id(std::uint64_t file_number, const FolderFacts& folder) {
  if (folder.store_id == 0) return false;
  if ((folder.store_id & kIdMadeAnew) == 0) return true;
  return folder.known_from != 0 && folder.known_from < file_number;
}

// A file of ours of which nothing but its seed is known.
FileIdentity identity_of_seed(std::uint32_t seed, std::uint64_t file_number,
                              const FolderFacts& folder) {
  FileIdentity identity;
  identity.kind = FileKind::checked;
  identity.seed = seed;
  if (folder.store_id != 0) identity.number = number_of_seed(seed, file_number, folder);
  if (identity.number != 0) identity.store_id = folder.store_id;
  return identity;
}

// Where the first record stands that beanstalkd has clearly written: a full one, or a change.
std::size_t find_clear_record(FileKind kind, std::string_view bytes, bool is_full) {
  for (std::size_t at = kVersionBytes; at + kShortRecordBytes <= bytes.size(); ++at) {
    const std::optional<Parsed> parsed = parse_legacy(kind, bytes.substr(at));
    const bool is_clear = parsed && is_clearly_of_beanstalkd(*parsed);
    if (is_clear && parsed->record.is_full() == is_full) return at;
  }
  return bytes.size();
}

// A version that is damaged must not decide: what the records say does. Nothing: a full record is
// needed, and there is none.
std::optional<FileKind> legacy_kind(std::string_view bytes, bool needs_full) {
  const std::uint32_t version = version_of(bytes);
  // Changes only where nothing else is left: zeros in front of one are easily taken for a part.
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

}  // namespace

std::size_t find_nonzero(std::string_view bytes, std::size_t from) {
  return std::min(bytes.find_first_not_of('\0', from), bytes.size());
}

std::optional<FileIdentity> identify_by_head(std::string_view bytes) {
  const std::uint32_t version = version_of(bytes);
  if (version == 0 && find_nonzero(bytes, 0) == bytes.size()) return FileIdentity{};
  if (bytes.size() < kVersionBytes) return std::nullopt;
  const std::string_view first = bytes.substr(kVersionBytes);
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
  if (kind == FileKind::unknown_version || !begins_like(kind, first)) return std::nullopt;
  return FileIdentity{.kind = kind, .signature = {}, .seed = 0, .number = 0, .store_id = 0};
}

FileIdentity identity_by_name(std::uint64_t file_number, const FolderFacts& folder) {
  return FileIdentity{.kind = FileKind::checked,
                      .signature = {},
                      .seed = folder.store_id == 0 ? 0 : seed_of_file(folder, file_number),
                      .number = file_number,
                      .store_id = folder.store_id};
}

FileIdentity identify(std::string_view bytes, std::uint64_t file_number,
                      const FolderFacts& folder) {
  if (const auto identity = identify_by_head(bytes)) return *identity;
  const FileIdentity by_name = identity_by_name(file_number, folder);
  if (folder.store_id != 0 && find_checked(bytes, kVersionBytes, by_name.seed)) return by_name;
  SeedSearch search(bytes);
  if (const auto seed = search.run()) {
    const FileIdentity by_records = identity_of_seed(*seed, file_number, folder);
    // All records of a sector that was written to the wrong place agree on one seed, which is that
    // of no file. If no record is whole in the rest of a file, no record of it is in its place.
    const bool has_rest = bytes.find_last_not_of('\0') >= kDiskSectorBytes;
    const bool may_be_stray = is_younger_than_id(file_number, folder) && by_records.number == 0 &&
                              has_rest && search.sectors_of(*seed) == 1;
    return may_be_stray ? by_name : by_records;
  }
  // Ours, and not one record is whole. What is left of them must not pass for beanstalkd's.
  if (bytes.size() > kVersionBytes && looks_like_signature(bytes.substr(kVersionBytes))) {
    return by_name;
  }
  // The same where a loss of power has taken its begin, too: of a change that is torn, the rest
  // looks like a deletion by beanstalkd. What is older than the files of ours may be beanstalkd's.
  const bool follows_ours = folder.known_from != 0 && folder.known_from < file_number;
  const auto kind = legacy_kind(bytes, follows_ours && version_of(bytes) == 0);
  if (!kind) return by_name;
  FileIdentity legacy;
  legacy.kind = *kind;
  return legacy;
}

std::optional<Contradiction> identify_against_signature(std::string_view bytes,
                                                        std::uint64_t file_number,
                                                        const FileIdentity& by_signature,
                                                        const FolderFacts& folder) {
  SeedSearch search(bytes);
  search.count_signature(by_signature.seed);
  if (folder.store_id != 0) {
    search.count_name(seed_of_file(folder, file_number));
  }
  const auto seed = search.run_without(by_signature.seed);
  if (!seed) return std::nullopt;
  return Contradiction{.by_records = identity_of_seed(*seed, file_number, folder),
                       .sectors = search.sectors_of(*seed),
                       .sectors_against = search.sectors_of(by_signature.seed)};
}

std::optional<std::size_t> find_checked(std::string_view bytes, std::size_t from,
                                        std::uint32_t seed) {
  for (std::size_t at = from; at + kShortRecordBytes <= bytes.size(); ++at) {
    if (bytes[at] == '\0') {
      const std::size_t nonzero = find_nonzero(bytes, at);
      if (nonzero == bytes.size()) return std::nullopt;
      if (nonzero > at + kZerosInFront) at = nonzero - kZerosInFront;
    }
    const std::string_view rest = bytes.substr(at);
    const Position position{seed, at, 0};
    const std::optional<Parsed> parsed = parse_record(rest);
    if (parsed && header_fits(rest, *parsed, position)) return at;
  }
  return std::nullopt;
}

}  // namespace haricot::binlog
