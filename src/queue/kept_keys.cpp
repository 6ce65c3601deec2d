#include "haricot/queue/kept_keys.hpp"

#include "haricot/base/check.hpp"
#include "haricot/base/job_tags.hpp"

namespace haricot {
namespace {

// Not the same if the two change places.
std::uint64_t hash_in_tube(std::uint64_t name_hash, std::uint64_t key_hash) {
  constexpr std::uint64_t kOdd = 0x9e37'79b9'7f4a'7c15;
  return key_hash ^ name_hash * kOdd;
}

}  // namespace

JobRef KeptKeys::find(std::string_view tube_name, std::string_view key) const {
  return find(tube_name, hash_of(hash_key_, tube_name), key, hash_of(hash_key_, key));
}

JobRef KeptKeys::find(std::string_view tube_name, std::uint64_t name_hash, std::string_view key,
                      std::uint64_t key_hash) const {
  const std::uint64_t hash = hash_in_tube(name_hash, key_hash);
  const KeyNode* const node = nodes_.find(hash, [&](const KeyNode& other) {
    return jobs_.unique_key(other.job) == key && jobs_.tube_name_of(other.job) == tube_name;
  });
  return node == nullptr ? JobRef::none : node->job;
}

bool KeptKeys::keep(JobRef remains, Instant end) {
  KeyNode& node = jobs_.key_node(remains);
  CHECK(node.job == JobRef::none);
  if (!ends_.reserve_one()) return false;
  const std::uint64_t name_hash = hash_of(hash_key_, jobs_.tube_name_of(remains));
  node.hash = hash_in_tube(name_hash, hash_of(hash_key_, jobs_.unique_key(remains)));
  if (!nodes_.insert(node)) return false;
  node.job = remains;
  jobs_[remains].created = end;
  ends_.push({end, remains}, jobs_);
  return true;
}

void KeptKeys::let_go(JobRef remains) {
  KeyNode& node = jobs_.key_node(remains);
  CHECK(node.job == remains);
  nodes_.erase(node);
  node.job = JobRef::none;
  ends_.remove(jobs_[remains].links.first, jobs_);
}

std::uint64_t KeptKeys::memory_bytes_for(std::string_view key, std::uint32_t seconds,
                                         std::size_t name_bytes) const {
  TagText text;
  const JobTags tags = text.write_kept_key(key, seconds);
  return jobs_.memory_bytes_for(name_bytes, JobStore::tag_bytes_of({text.view(), tags})) +
         sizeof(KeyNode*);
}

KeptRoom KeptKeys::room_of(std::span<const JobRef> remains) const {
  KeptRoom room;
  for (const JobRef ref : remains) {
    if (ref != JobRef::none)
      room.add(jobs_.unique_key(ref).size() + jobs_.tube_name_of(ref).size());
  }
  return room;
}

void KeptKeys::check_invariants() const {
  CHECK(nodes_.size() == ends_.size());
  for (std::uint32_t i = 0; i < ends_.size(); ++i) {
    const EndSlot& slot = ends_.at(i);
    if (i > 0) CHECK(!(slot < ends_.at((i - 1) / 2)));
    const Job& remains = jobs_[slot.job];
    CHECK(remains.links.first == i);
    CHECK(end_of(remains) == slot.end);
    CHECK(jobs_.find_remains(remains.id) == slot.job);
    CHECK(jobs_.has_kept_key(slot.job) && jobs_.kept_seconds(slot.job) > 0);
    CHECK(find(jobs_.tube_name_of(slot.job), jobs_.unique_key(slot.job)) == slot.job);
  }
}

}  // namespace haricot
