// The tags of puts whose bodies are incomplete.
//
// Most bodies arrive together with their lines. So tags are not copied while their line is in the
// input. Copies of the tags of one put need no allocation, and more puts are rare.

#pragma once

#include <string_view>
#include <unordered_map>

#include "haricot/base/job_tags.hpp"
#include "haricot/queue/job.hpp"

namespace haricot {

class PendingTags {
 public:
  // Keeps the tags of the put with that id. `text` and `tags` refer to its line, which remains
  // valid until release_line(). Returns false if memory is short; nothing has changed then.
  // Requires: none are kept for the id.
  [[nodiscard]] bool keep(JobId id, std::string_view text, const JobTags& tags);
  // Copies the tags that were kept last out of their line, unless that is done.
  void release_line() {
    if (is_in_line_) [[unlikely]]
      copy_last();
  }
  // Returns the tags of a put, valid until the next call of this object. Requires: they are kept.
  const ReadTags& find(JobId id);
  // Forgets the tags of a put, if they are kept.
  void forget(JobId id);

 private:
  [[gnu::noinline]] void copy_last();

  JobId last_id_ = 0;        // Id of the last put; 0: its tags are not kept any more.
  bool is_in_line_ = false;  // last_ refers to its line, otherwise to last_text_.
  TagText last_text_;
  ReadTags last_;
  std::unordered_map<JobId, TagText> others_;
  ReadTags other_;  // Last result of find() among others_.
};

}  // namespace haricot
