// The tags of puts whose bodies are under way.
//
// Most bodies come with their lines. Until a line goes, its tags stay where they stand, and nothing
// is copied. Of the lines that are gone, mostly one put at a time is under way: that needs no
// memory.

#pragma once

#include <string_view>
#include <unordered_map>

#include "haricot/base/job_tags.hpp"
#include "haricot/queue/job.hpp"

namespace haricot {

class PendingTags {
 public:
  // Keeps the tags of a put that will have that id. They have to stay where they stand until
  // let_line_go(). False: no memory, and nothing has changed. Requires: none are kept for the id.
  [[nodiscard]] bool keep(JobId id, std::string_view text, const JobTags& tags);
  // The line of the tags that were kept last is about to go.
  void let_line_go() {
    if (is_in_line_) [[unlikely]]
      copy_last();
  }
  // They refer to what is kept. Valid until the next call of anything. Requires: they are kept.
  const ReadTags& find(JobId id);
  // Nothing happens if there are none.
  void forget(JobId id);

 private:
  [[gnu::noinline]] void copy_last();

  JobId last_id_ = 0;        // Of the put that came last, if its tags are still kept.
  bool is_in_line_ = false;  // last_ refers to its line, and else to last_text_.
  TagText last_text_;
  ReadTags last_;
  std::unordered_map<JobId, TagText> others_;
  ReadTags other_;  // Those of the others that were asked for.
};

}  // namespace haricot
