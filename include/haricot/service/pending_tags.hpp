// The tags of puts whose bodies are under way: the lines that they stood in are gone by then.
//
// Most bodies come with their lines, so that one put at a time has to be kept. That needs no
// memory.

#pragma once

#include <string_view>
#include <unordered_map>

#include "haricot/base/job_tags.hpp"
#include "haricot/queue/job.hpp"

namespace haricot {

class PendingTags {
 public:
  // Keeps the tags of a put that will have that id. False: no memory, and nothing has changed.
  // Requires: none are kept for the id.
  [[nodiscard]] bool keep(JobId id, const JobTags& tags);
  // They refer to what is kept. Valid until the next call of anything. Requires: they are kept.
  const ReadTags& find(JobId id);
  // Nothing happens if there are none.
  void forget(JobId id);

 private:
  JobId last_id_ = 0;  // Of the put that came last, if its tags are still kept.
  TagText last_text_;
  ReadTags last_;  // They refer to last_text_.
  std::unordered_map<JobId, TagText> others_;
  ReadTags other_;  // Those of the others that were asked for.
};

}  // namespace haricot
