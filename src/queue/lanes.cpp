#include "haricot/queue/lanes.hpp"

#include <memory>
#include <new>

#include "haricot/base/check.hpp"

namespace haricot {

Lanes::~Lanes() {
  by_key_.clear([](Lane* lane) { delete lane; });
}

// Combines the hash of the key with the tube. Equal keys in two tubes have related hashes, but
// clients cannot predict either.
std::uint64_t Lanes::hash_of_lane(TubeRef tube, std::string_view key) const {
  constexpr std::uint64_t kOdd = 0x9e37'79b9'7f4a'7c15;
  return hash_of(hash_key_, key) ^ static_cast<std::uint64_t>(tube) * kOdd;
}

Lane* Lanes::find(TubeRef tube, std::string_view key, std::uint64_t hash) const {
  return by_key_.find(hash, [&](const Lane& lane) { return lane.tube == tube && lane.key == key; });
}

Lane* Lanes::find(TubeRef tube, std::string_view key) const {
  return find(tube, key, hash_of_lane(tube, key));
}

Lane* Lanes::find_or_create(TubeRef tube, std::string_view key) {
  const std::uint64_t hash = hash_of_lane(tube, key);
  if (Lane* const found = find(tube, key, hash); found != nullptr) return found;
  std::unique_ptr<Lane> lane(new (std::nothrow) Lane);
  if (lane == nullptr) return nullptr;
  try {
    lane->key = key;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  lane->tube = tube;
  lane->hash = hash;
  lane->ref = by_ref_.add(lane.get());
  if (lane->ref == LaneRef::none) return nullptr;
  if (!by_key_.insert(*lane)) {
    by_ref_.drop(lane->ref);
    return nullptr;
  }
  memory_bytes_ += memory_bytes_for(key);
  return lane.release();
}

void Lanes::drop_if_empty(Lane& lane) {
  if (lane.jobs > 0) return;
  CHECK(lane.reserved == 0 && lane.ready.empty() && lane.open == JobRef::none);
  memory_bytes_ -= memory_bytes_for(lane.key);
  by_key_.erase(lane);
  by_ref_.drop(lane.ref);
  delete &lane;
}

void Lanes::join(Lane& lane, JobRef ref) {
  jobs_.node<Tag::lane>(ref).lane = lane.ref;
  ++lane.jobs;
}

void Lanes::leave(Lane& lane, JobRef ref) {
  jobs_.node<Tag::lane>(ref).lane = LaneRef::none;
  --lane.jobs;
  drop_if_empty(lane);
}

// Includes the references in both tables, and the headers that malloc adds to two blocks.
std::uint64_t Lanes::memory_bytes_for(std::string_view key) {
  return sizeof(Lane) + key.size() + 2 * sizeof(Lane*) + 16;
}

}  // namespace haricot
