// Backpressure for pages.
//
// A page takes up to 1 MiB until its client has read it. While the memory limit is reached, the
// command stays in the input of its session, and is run when another client has read its page, or
// when memory was freed. A refusal would be simpler, but monitors would fail while the queue is
// full, which is when they are needed.

#include <algorithm>

#include "haricot/base/memory.hpp"
#include "haricot/service/service.hpp"

namespace haricot {

// At most kPagesAtLimit in a turn, so that the limit is passed by no more than that.
std::uint32_t Service::pages_to_begin() const {
  return Memory::is_at_limit() ? kPagesAtLimit - std::min(pages_, kPagesAtLimit) : kPagesAtLimit;
}

void Service::wait_for_memory(Session& session) {
  session.stopped_ = Stopped::deferred;
  session.lacks_memory_ = true;
  short_of_memory_.push_back(session);
}

// Removes the session from the backlog, or from the sessions that wait for the disk or for memory.
void Service::leave_backlog(Session& session) {
  if (session.is_in_backlog()) backlog_.remove(session);
  if (session.stopped_ != Stopped::deferred) return;
  (session.lacks_memory_ ? short_of_memory_ : deferred_).remove(session);
  session.lacks_memory_ = false;
}

void Service::wake_for_pages() {
  for (std::uint32_t i = pages_to_begin(); i > 0 && !short_of_memory_.empty(); --i) {
    Session& session = short_of_memory_.front();
    leave_backlog(session);
    wait_in_backlog(session, Stopped::has_had_share);
  }
}

void Service::begin_page(Session& session) {
  if (session.has_page_) return;
  session.has_page_ = true;
  ++pages_;
}

// A list in pieces may be incomplete although all that is there was sent.
void Service::end_page(Session& session) {
  if (session.has_output() || session.is_answered_in_pieces()) return;
  session.has_page_ = false;
  --pages_;
}

}  // namespace haricot
