#include "haricot/queue/tombstones.hpp"

#include "haricot/base/check.hpp"
#include "haricot/base/job_tags.hpp"

namespace haricot {
namespace {

// Combines two hashes; not symmetric.
std::uint64_t hash_in_tube(std::uint64_t name_hash, std::uint64_t key_hash) {
  constexpr std::uint64_t kOdd = 0x9e37'79b9'7f4a'7c15;
  return key_hash ^ name_hash * kOdd;
}

}  // namespace

JobRef Tombstones::find(std::string_view tube_name, std::string_view key) const {
  return find(tube_name, hash_of(hash_key_, tube_name), key, hash_of(hash_key_, key));
}

JobRef Tombstones::find(std::string_view tube_name, std::uint64_t name_hash, std::string_view key,
                        std::uint64_t key_hash) const {
  const std::uint64_t hash = hash_in_tube(name_hash, key_hash);
  const KeyNode* const node = nodes_.find(hash, [&](const KeyNode& other) {
    return jobs_.unique_key(other.job) == key && jobs_.tube_name_of(other.job) == tube_name;
  });
  return node == nullptr ? JobRef::none : node->job;
}

bool Tombstones::add(JobRef tombstone_ref, Instant end) {
  KeyNode& node = jobs_.node<Tag::unique>(tombstone_ref);
  CHECK(node.job == JobRef::none);
  if (!ends_.allocate_one()) return false;
  const std::uint64_t name_hash = hash_of(hash_key_, jobs_.tube_name_of(tombstone_ref));
  node.hash = hash_in_tube(name_hash, hash_of(hash_key_, jobs_.unique_key(tombstone_ref)));
  if (!nodes_.insert(node)) return false;
  node.job = tombstone_ref;
  jobs_[tombstone_ref].created = end;
  ends_.push({end, tombstone_ref}, jobs_);
  return true;
}

void Tombstones::release(JobRef tombstone_ref) {
  KeyNode& node = jobs_.node<Tag::unique>(tombstone_ref);
  CHECK(node.job == tombstone_ref);
  nodes_.erase(node);
  node.job = JobRef::none;
  ends_.remove(jobs_[tombstone_ref].links.first, jobs_);
}

std::uint64_t Tombstones::memory_bytes_for(std::string_view key, std::uint32_t seconds,
                                           std::size_t name_bytes) const {
  TagText text;
  const JobTags tags = text.write_tombstone_key(key, seconds);
  return jobs_.memory_bytes_for(name_bytes, JobStore::tag_bytes_of({text.view(), tags})) +
         sizeof(KeyNode*);
}

TombstoneRoom Tombstones::room_of(std::span<const JobRef> tombstone_refs) const {
  TombstoneRoom room;
  for (const JobRef ref : tombstone_refs) {
    if (ref != JobRef::none)
      room.add(jobs_.unique_key(ref).size() + jobs_.tube_name_of(ref).size());
  }
  return room;
}

void Tombstones::check_invariants() const {
  CHECK(nodes_.size() == ends_.size());
  for (std::uint32_t i = 0; i < ends_.size(); ++i) {
    const EndEntry& entry = ends_.at(i);
    if (i > 0) CHECK(!(entry < ends_.at((i - 1) / 2)));
    const Job& tombstone = jobs_[entry.job];
    CHECK(tombstone.links.first == i);
    CHECK(end_of(tombstone) == entry.end);
    CHECK(jobs_.find_tombstone(tombstone.id) == entry.job);
    CHECK(jobs_.leaves_tombstone(entry.job) && jobs_.tombstone_seconds(entry.job) > 0);
    CHECK(find(jobs_.tube_name_of(entry.job), jobs_.unique_key(entry.job)) == entry.job);
  }
}

}  // namespace haricot
