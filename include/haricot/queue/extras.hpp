// Notifies the parts that manage tags (lanes, keys, groups) of each move of a job with tags.
//
// Places calls moved() with the old and the new place of a job. The first move is from `nowhere`,
// and the last one, before the job is destroyed, is to `nowhere`. The row of a tag
// (base/tag_rows.inc) names the part that follows its jobs; a new part needs a moved(), and a line
// in each function below.

#pragma once

#include <cstddef>
#include <cstdint>

#include "haricot/base/job_tags.hpp"
#include "haricot/queue/groups.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/keys.hpp"
#include "haricot/queue/lanes.hpp"
#include "haricot/queue/tube.hpp"

namespace haricot {

// Parts that follow the jobs with a tag.
enum class TagPart : std::uint8_t { none, lanes, keys, groups };

// Returns the tags whose jobs the part follows.
constexpr TagSet tags_of(TagPart wanted) {
  TagSet tags;
#define HARICOT_TAG(tag, word, value, part, ...) \
  if (TagPart::part == wanted) tags.add(Tag::tag);
#include "haricot/base/tag_rows.inc"
  return tags;
}

class Extras {
 public:
  Extras(QueueState& state, LaneOrder& lanes, Keys& keys, Groups& groups)
      : state_(state), lanes_(lanes), keys_(keys), groups_(groups) {}

  // Returns the bytes of all lanes, keys and groups, without the pieces of their jobs.
  std::uint64_t memory_bytes() const {
    return lanes_.lanes().memory_bytes() + keys_.memory_bytes() + groups_.memory_bytes();
  }
  // Returns the memory that a job with these tags takes.
  std::uint64_t memory_bytes_for(const Tube& tube, const ReadTags& tags,
                                 std::size_t body_bytes) const {
    const std::uint64_t job =
        state_.jobs.memory_bytes_for(body_bytes, JobStore::tag_bytes_of(tags));
    std::uint64_t bytes = keys_.memory_bytes_for(tube, tags.tags, job);
    const std::string_view lane = tags.tags.lane;
    if (!lane.empty() && lanes_.lanes().find(tube.ref, lane) == nullptr) {
      bytes += Lanes::memory_bytes_for(lane);
    }
    return bytes + groups_.memory_bytes_for(tags.tags);
  }
  // Adds a new job to its lane and group, and gives it its key. Returns false if memory is short;
  // nothing has changed then. Requires: Keys::find() has found the key free.
  [[nodiscard]] bool take_up(const Tube& tube, JobRef ref, const JobTags& tags,
                             const Keys::Found& key) {
    state_.jobs[ref].tube = tube.ref;
    if (!tags.unique_key.empty() && !keys_.take(ref, key)) return false;
    const bool has_group = tags.group.empty() || groups_.join(ref, tags.group);
    if (has_group && (tags.lane.empty() || lanes_.join(tube, ref, tags))) return true;
    if (has_group && !tags.group.empty()) groups_.leave(ref);
    keys_.release(ref);
    return false;
  }
  // Adds a restored job to its lane and group, and gives it its key. Returns false if memory is
  // short; earlier changes remain.
  [[nodiscard]] bool restore(JobRef ref) {
    const JobTags tags = tags_in(state_.jobs.tags(ref));
    if (!tags.lane.empty() && !lanes_.restore(ref, tags)) return false;
    if (!tags.group.empty() && !groups_.join(ref, tags.group)) return false;
    return tags.unique_key.empty() || keys_.restore(ref, tags);
  }

  // Requires: the job has tags.
  void moved(JobRef ref, Place from, Place to) {
    const TagSet tags = state_.jobs.stored_tags(ref).set();
    if (tags.has_any(tags_of(TagPart::keys))) keys_.moved(ref, from, to);
    if (tags.has_any(tags_of(TagPart::lanes))) lanes_.moved(ref, from, to);
    if (tags.has_any(tags_of(TagPart::groups))) {
      groups_.moved(ref, from, to);
      // A burial may end holds. After a deletion Backlog ends them itself.
      if (to == Place::buried && groups_.has_ended()) state_.resume_all_by(state_.now);
    }
  }
  // Called before and after the priority of a ready job changes. Require: the job has tags.
  void before_priority_changes(JobRef ref) { lanes_.take_out(ref); }
  void after_priority_changed(JobRef ref) { lanes_.put_in(ref); }

 private:
  QueueState& state_;
  LaneOrder& lanes_;
  Keys& keys_;
  Groups& groups_;
};

}  // namespace haricot
