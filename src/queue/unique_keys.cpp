#include "haricot/queue/unique_keys.hpp"

#include "haricot/base/check.hpp"

namespace haricot {

namespace {

// The same key in two tubes has two hashes, but whoever knows one knows no more than before.
std::uint64_t hash_in_tube(std::uint64_t hash, TubeRef tube) {
  constexpr std::uint64_t kOdd = 0x9e37'79b9'7f4a'7c15;
  return hash ^ static_cast<std::uint64_t>(tube) * kOdd;
}

}  // namespace

UniqueKeys::Found UniqueKeys::find(TubeRef tube, std::string_view key) const {
  Found found{.hash = hash_of(hash_key_, key)};
  const KeyNode* const node =
      nodes_.find(hash_in_tube(found.hash, tube), [&](const KeyNode& other) {
        return jobs_[other.job].tube == tube && jobs_.unique_key(other.job) == key;
      });
  if (node != nullptr) found.holder = node->job;
  return found;
}

bool UniqueKeys::hold(JobRef ref, std::uint64_t hash) {
  KeyNode& node = jobs_.key_node(ref);
  CHECK(node.job == JobRef::none);
  node.hash = hash_in_tube(hash, jobs_[ref].tube);
  if (!nodes_.insert(node)) return false;
  node.job = ref;
  return true;
}

void UniqueKeys::let_go(JobRef ref) {
  KeyNode* const node = jobs_.find_key_node(ref);
  if (node == nullptr || node->job == JobRef::none) return;
  nodes_.erase(*node);
  node->job = JobRef::none;
}

}  // namespace haricot
