#include "haricot/queue/extras.hpp"

namespace haricot {

std::uint64_t Extras::memory_bytes_for(const Tube& tube, const ReadTags& tags,
                                       std::size_t body_bytes) const {
  const std::uint64_t job = state_.jobs.memory_bytes_for(body_bytes, JobStore::tag_bytes_of(tags));
  std::uint64_t bytes = keys_.memory_bytes_for(tube, tags.tags, job);
  const std::string_view lane = tags.tags.lane;
  if (!lane.empty() && lanes_.lanes().find(tube.ref, lane) == nullptr) {
    bytes += Lanes::memory_bytes_for(lane);
  }
  const std::string_view group = tags.tags.group;
  if (!group.empty() && groups_.find(group) == nullptr) bytes += Groups::memory_bytes_for(group);
  return bytes;
}

bool Extras::take_up(const Tube& tube, JobRef ref, const JobTags& tags, const Keys::Found& key) {
  state_.jobs[ref].tube = tube.ref;
  if (!tags.unique_key.empty() && !keys_.take(ref, key)) return false;
  const bool has_group = tags.group.empty() || groups_.join(ref, tags.group);
  if (has_group && (tags.lane.empty() || lanes_.join(tube, ref, tags))) return true;
  if (has_group && !tags.group.empty()) groups_.leave(ref);
  keys_.release(ref);
  return false;
}

bool Extras::restore(JobRef ref) {
  const JobTags tags = tags_in(state_.jobs.tags(ref));
  if (!tags.lane.empty() && !lanes_.restore(ref, tags)) return false;
  if (!tags.group.empty() && !groups_.join(ref, tags.group)) return false;
  return tags.unique_key.empty() || keys_.restore(ref, tags);
}

}  // namespace haricot
