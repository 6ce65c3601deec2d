#include "haricot/queue/unique_keys.hpp"

#include "haricot/base/check.hpp"

namespace haricot {

// Combines the hash of the key with the tube. Equal keys in two tubes have related hashes, but
// clients cannot predict either.
UniqueKeys::Found UniqueKeys::find(TubeRef tube, std::string_view key) const {
  constexpr std::uint64_t kOdd = 0x9e37'79b9'7f4a'7c15;
  const std::uint64_t key_hash = hash_of(hash_key_, key);
  Found found{.hash = key_hash ^ static_cast<std::uint64_t>(tube) * kOdd, .key_hash = key_hash};
  const KeyNode* const node = nodes_.find(found.hash, [&](const KeyNode& other) {
    return jobs_[other.job].tube == tube && jobs_.unique_key(other.job) == key;
  });
  if (node != nullptr) found.owner = node->job;
  return found;
}

bool UniqueKeys::take(JobRef ref, std::uint64_t hash) {
  KeyNode& node = jobs_.node<Tag::unique>(ref);
  CHECK(node.job == JobRef::none);
  node.hash = hash;
  if (!nodes_.insert(node)) return false;
  node.job = ref;
  return true;
}

void UniqueKeys::release(JobRef ref) {
  const StoredTags tags = jobs_.stored_tags(ref);
  if (!tags.has(Tag::unique)) return;
  KeyNode& node = tags.node<Tag::unique>();
  if (node.job == JobRef::none) return;
  nodes_.erase(node);
  node.job = JobRef::none;
}

}  // namespace haricot
