#include "tool/binlog/repair/seed_search.hpp"

#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/format/record.hpp"

namespace haricot::tool {
namespace {

using haricot::binlog::find_nonzero;
using haricot::binlog::kDiskSectorBytes;
using haricot::binlog::kShortRecordBytes;
using haricot::binlog::kVersionBytes;
using haricot::binlog::Parsed;

// Number of agreeing checksums that end the search, if they are in enough sectors.
constexpr std::uint32_t kSumsToStop = 32;
constexpr std::uint32_t kSectorsToStop = 4;
// Bounds the seeds that are collected. Most of them come from bytes that are no records.
constexpr std::size_t kSeedsMax = 1 << 16;
// A record begins with at most four zeros of its name length and seven of its id.
constexpr std::size_t kZerosInFront = 11;

}  // namespace

void SeedSearch::count_signature(std::uint32_t seed) {
  add(seed, 1, kVersionBytes);
}

// Records that beanstalkd has copied as a whole are proven too, each by another seed.
std::optional<std::uint32_t> SeedSearch::run() {
  look_at_all();
  if (best_.sums < 2 || 2 * best_.sums <= proven_sums_) return std::nullopt;
  return best_seed_;
}

std::optional<std::uint32_t> SeedSearch::run_without(std::uint32_t seed) {
  look_at_all();
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

void SeedSearch::look_at_all() {
  std::size_t at = kVersionBytes;
  while (at + kShortRecordBytes <= bytes_.size() &&
         (best_.sums < kSumsToStop || best_.sectors < kSectorsToStop)) {
    at += look_at(at);
  }
}

// Returns the number of bytes to advance.
std::size_t SeedSearch::look_at(std::size_t at) {
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
