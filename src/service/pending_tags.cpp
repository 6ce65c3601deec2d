#include "haricot/service/pending_tags.hpp"

#include <new>

#include "haricot/base/check.hpp"

namespace haricot {

bool PendingTags::keep(JobId id, std::string_view text, const JobTags& tags) {
  CHECK(id != 0 && id != last_id_ && !text.empty());
  if (last_id_ != 0) {
    release_line();
    try {
      others_.emplace(last_id_, last_text_);
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  last_id_ = id;
  last_.text = text;
  last_.tags = tags;
  is_in_line_ = true;
  if (!is_key_alone(last_)) copy_last();  // Copying sorts the tags.
  return true;
}

void PendingTags::copy_last() {
  last_.tags = last_text_.write(last_.tags);
  last_.text = last_text_.view();
  is_in_line_ = false;
}

const ReadTags& PendingTags::find(JobId id) {
  if (id == last_id_) return last_;
  const auto found = others_.find(id);
  CHECK(found != others_.end());
  const std::string_view text = found->second.view();
  other_ = {text, tags_in(text)};
  return other_;
}

void PendingTags::forget(JobId id) {
  if (id == last_id_) {
    last_id_ = 0;
    is_in_line_ = false;
  } else {
    others_.erase(id);
  }
}

}  // namespace haricot
