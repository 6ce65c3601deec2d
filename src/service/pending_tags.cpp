#include "haricot/service/pending_tags.hpp"

#include <new>

namespace haricot {

bool PendingTags::keep(JobId id, const JobTags& tags) {
  if (last_id_ != 0) {
    try {
      others_.emplace(last_id_, last_text_);
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  last_id_ = id;
  last_.tags = last_text_.write(tags);
  last_.text = last_text_.view();
  return true;
}

const ReadTags& PendingTags::find(JobId id) {
  if (id == last_id_) return last_;
  const std::string_view text = others_.at(id).view();
  other_ = {text, tags_in(text)};
  return other_;
}

void PendingTags::forget(JobId id) {
  if (id == last_id_) {
    last_id_ = 0;
  } else {
    others_.erase(id);
  }
}

}  // namespace haricot
