#include "tool/binlog/repair/guesses.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/format/record.hpp"

namespace haricot::tool {
namespace {

using haricot::binlog::binlog_file_name;
using haricot::binlog::Disk;
using haricot::binlog::DiskStatus;
using haricot::binlog::FileBytes;
using haricot::binlog::FileFacts;
using haricot::binlog::FileIdentity;
using haricot::binlog::FileKind;
using haricot::binlog::FolderFacts;
using haricot::binlog::FolderNote;
using haricot::binlog::salt_of;
using haricot::binlog::seed_of;

// Range of the numbers that are tried for a file whose number is unknown: from kNamesBelow below
// the lowest existing number to kNamesAbove above the highest, at most kNamesTried.
constexpr std::uint64_t kNamesBelow = 1000;
constexpr std::uint64_t kNamesAbove = 64;
constexpr std::uint64_t kNamesTried = 1 << 20;

// Returns the N of binlog.N.aside.K.
std::optional<std::uint64_t> number_aside(std::string_view name) {
  const std::size_t at = name.find(".aside.");
  if (at == std::string_view::npos) return std::nullopt;
  return haricot::binlog::binlog_file_number(name.substr(0, at));
}

class Guessing {
 public:
  Guessing(Disk& disk, FolderFacts& facts, std::vector<Guess>& guesses)
      : disk_(disk), facts_(facts), guesses_(guesses) {}

  bool run() {
    if (!add_files_aside()) return false;
    choose_store();
    for (FileFacts& file : facts_.files) {
      const bool is_displaced =
          file.identity.signature &&
          (file.identity.number != file.name_number || file.identity.store_id != facts_.store_id);
      if (!is_displaced && file.identity.kind != FileKind::unidentified) continue;
      if (disk_.read(file.name, bytes_) != DiskStatus::ok) return false;
      if (is_displaced) {
        identify_by_records(file);
      } else {
        identify_by_votes(file);
      }
    }
    return true;
  }

 private:
  std::uint32_t seed_of_file(std::uint64_t number) const {
    return seed_of(salt_of(facts_.store_id, number), number);
  }

  // Adds the files without a signature that servers have set aside, each in its old place.
  bool add_files_aside() {
    std::vector<std::string> names;
    if (disk_.list(names) != DiskStatus::ok) return false;
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      const auto number = number_aside(name);
      if (!number) continue;
      if (disk_.read(name, bytes_) != DiskStatus::ok) return false;
      const FileIdentity identity = haricot::binlog::identify(
          bytes_.view(), {.number = *number, .store_id = facts_.store_id});
      const bool is_headless = !identity.signature && (identity.kind == FileKind::unidentified ||
                                                       identity.kind == FileKind::checked);
      if (!is_headless) continue;
      facts_.files.push_back({.name = name, .name_number = *number, .identity = identity});
      guesses_.push_back({name, "is read in place of " + binlog_file_name(*number)});
    }
    std::stable_sort(
        facts_.files.begin(), facts_.files.end(),
        [](const FileFacts& a, const FileFacts& b) { return a.name_number < b.name_number; });
    return true;
  }

  // Returns the number of files that are missing or renamed if this is the id of the folder.
  std::size_t count_misfits(std::uint64_t store_id) const {
    std::set<std::uint64_t> there;
    std::set<std::uint64_t> needed;
    std::size_t misfits = 0;
    for (const FileFacts& file : facts_.files) {
      const auto& signature = file.identity.signature;
      if (!signature || signature->store_id != store_id) continue;
      there.insert(signature->file_number);
      misfits += signature->file_number != file.name_number;
      if (signature->previous_number != 0) needed.insert(signature->previous_number);
      if (signature->oldest_needed != 0) needed.insert(signature->oldest_needed);
      // Unless it is stopped, a server seals a file because it has begun the next one.
      if (file.seal && !file.seal->clean_exit) needed.insert(signature->file_number + 1);
    }
    for (const std::uint64_t number : needed) misfits += !there.contains(number);
    return misfits;
  }

  void choose_store() {
    const std::vector<std::uint64_t> likely = likely_stores(facts_.files, facts_.note);
    if (likely.size() < 2) return;
    std::size_t least = std::numeric_limits<std::size_t>::max();
    std::size_t choices = 0;
    for (const std::uint64_t id : likely) {
      const std::size_t misfits = count_misfits(id);
      choices = misfits < least ? 1 : choices + (misfits == least);
      if (misfits <= least) facts_.store_id = id;
      least = std::min(least, misfits);
    }
    if (choices > 1) return;
    for (const FileFacts& file : facts_.files) {
      if (file.identity.store_id != facts_.store_id) continue;
      guesses_.push_back(
          {file.name, "is taken for a file of this folder, because fewer files are then odd"});
    }
  }

  // Returns the number of the file that has this seed; 0: no number that is tried has it.
  std::uint64_t number_of_seed(std::uint32_t seed, std::uint64_t name_number) const {
    if (facts_.store_id == 0) return 0;
    if (seed_of_file(name_number) == seed) return name_number;
    const std::uint64_t lowest = facts_.files.front().name_number;
    const std::uint64_t first = lowest - std::min(lowest - 1, kNamesBelow);
    const std::uint64_t last =
        std::min(facts_.files.back().name_number + kNamesAbove, first + kNamesTried);
    for (std::uint64_t number = first; number <= last; ++number) {
      if (seed_of_file(number) == seed) return number;
    }
    return 0;
  }

  void take(FileFacts& file, std::uint32_t seed, std::uint32_t sectors) {
    const std::uint64_t number = number_of_seed(seed, file.name_number);
    // The file belongs to another folder, unless it is older than the folder's id (kIdMadeAnew).
    const bool may_be_older = (facts_.store_id & haricot::binlog::kIdMadeAnew) != 0;
    if (number == 0 && facts_.store_id != 0 && !may_be_older) return;
    if (number != 0) file.name_number = number;
    file.identity = {.kind = FileKind::checked,
                     .signature = {},
                     .seed = seed,
                     .number = file.name_number,
                     .store_id = facts_.store_id};
    file.seal.reset();
    guesses_.push_back({file.name, "is taken for " + binlog_file_name(file.name_number) + ", by " +
                                       std::to_string(sectors) + " of its sectors" +
                                       (number != 0 ? "" : " and its name")});
  }

  void identify_by_votes(FileFacts& file) {
    SeedSearch search(bytes_.view());
    if (const auto seed = search.run()) take(file, *seed, search.sectors_of(*seed));
  }

  // Checks the signature against the records: it is in one sector, which a disk may have written to
  // the wrong place.
  void identify_by_records(FileFacts& file) {
    SeedSearch search(bytes_.view());
    search.count_signature(file.identity.seed);
    if (facts_.store_id != 0) search.count_name(seed_of_file(file.name_number));
    const auto seed = search.run_without(file.identity.seed);
    if (!seed || number_of_seed(*seed, file.name_number) == 0) return;
    const std::uint32_t sectors = search.sectors_of(*seed);
    if (sectors > search.sectors_of(file.identity.seed)) take(file, *seed, sectors);
  }

  Disk& disk_;
  FolderFacts& facts_;
  std::vector<Guess>& guesses_;
  FileBytes bytes_;
};

}  // namespace

std::vector<std::uint64_t> likely_stores(const std::vector<FileFacts>& files,
                                         const FolderNote& note) {
  std::vector<std::uint64_t> stores;
  std::map<std::uint64_t, std::size_t> files_of;
  std::size_t most = 0;
  for (const FileFacts& file : files) {
    if (file.has_signature()) most = std::max(most, ++files_of[file.identity.store_id]);
  }
  if (note.store_id != 0 && (files_of.empty() || files_of.contains(note.store_id))) {
    return {note.store_id};
  }
  for (const FileFacts& file : files) {
    if (!file.has_signature() || files_of[file.identity.store_id] != most) continue;
    std::erase(stores, file.identity.store_id);
    stores.push_back(file.identity.store_id);
  }
  return stores;
}

bool guess(binlog::Disk& disk, binlog::FolderFacts& facts, std::vector<Guess>& guesses,
           std::string& error) {
  if (Guessing(disk, facts, guesses).run()) return true;
  error = disk.last_error();
  return false;
}

namespace {

using haricot::binlog::find_nonzero;
using haricot::binlog::kDiskSectorBytes;
using haricot::binlog::kShortRecordBytes;
using haricot::binlog::kVersionBytes;
using haricot::binlog::Parsed;

// Number of agreeing checksums that end the search, if they are in enough sectors.
constexpr std::uint32_t kSumsToStop = 32;
constexpr std::uint32_t kSectorsToStop = 4;
// Maximum number of seeds that are collected. Most of them come from bytes that are no records.
constexpr std::size_t kSeedsMax = 1 << 16;
// Maximum number of zeros at the beginning of a record: four of its name length and seven of its
// id.
constexpr std::size_t kZerosInFront = 11;

}  // namespace

void SeedSearch::count_signature(std::uint32_t seed) {
  add(seed, 1, kVersionBytes);
}

// Rejects a seed that too many whole full records contradict: beanstalkd has copied them, so each
// yields a different seed.
std::optional<std::uint32_t> SeedSearch::run() {
  count_all();
  if (best_.sums < 2 || 2 * best_.sums <= proven_sums_) return std::nullopt;
  return best_seed_;
}

std::optional<std::uint32_t> SeedSearch::run_without(std::uint32_t seed) {
  count_all();
  if (seed_of_name_ && *seed_of_name_ != seed && votes_.contains(*seed_of_name_)) {
    return *seed_of_name_;
  }
  std::optional<std::uint32_t> best;
  for (const auto& [other, votes] : votes_) {
    if (other == seed || votes.sums < 2) continue;
    if (!best || votes > votes_[*best]) best = other;
  }
  return best;
}

std::uint32_t SeedSearch::sectors_of(std::uint32_t seed) const {
  const auto found = votes_.find(seed);
  return found == votes_.end() ? 0 : found->second.sectors;
}

void SeedSearch::count_all() {
  std::size_t at = kVersionBytes;
  while (at + kShortRecordBytes <= bytes_.size() &&
         (best_.sums < kSumsToStop || best_.sectors < kSectorsToStop)) {
    at += count_at(at);
  }
}

// Counts the checksums of a record or seal at that offset. Returns the number of bytes to advance.
std::size_t SeedSearch::count_at(std::size_t at) {
  const std::string_view rest = bytes_.substr(at);
  if (const auto seed = haricot::binlog::seed_by_seal(rest, at)) {
    add(*seed, 1, at);
    return kShortRecordBytes;
  }
  const std::optional<Parsed> parsed = haricot::binlog::parse_record(rest);
  if (!parsed || !parsed->body_is_there) {
    const std::size_t nonzero = find_nonzero(rest, 0);
    return nonzero > kZerosInFront ? nonzero - kZerosInFront : 1;
  }
  const std::uint32_t seed = haricot::binlog::seed_by_header(rest, *parsed, at);
  if (!parsed->record.is_full()) {
    add(seed, 1, at);
    return 1;
  }
  if (haricot::binlog::seed_by_body(*parsed, at) != seed) {
    if (votes_.contains(seed)) add(seed, 1, at);
    return 1;
  }
  add(seed, 1, at);
  add(seed, 1, at + parsed->record.bytes() - 1);
  proven_sums_ += 2;
  return parsed->record.bytes();
}

void SeedSearch::add(std::uint32_t seed, std::uint32_t sums, std::size_t at) {
  if (votes_.size() >= kSeedsMax && !votes_.contains(seed)) return;
  const auto [found, is_new] = votes_.try_emplace(seed);
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

}  // namespace haricot::tool
