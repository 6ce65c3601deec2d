// Backpressure for pages: pages of jobs, tubes and clients, and lists of all tubes.
//
// These are the only answers that take much memory: up to 1 MiB until the client has read it. While
// the memory limit is reached, only a few may be pending. A command for one more page stays in the
// input of its session (RunQueue::wait_for_memory) until a client has read its page, or memory was
// freed. Refusing the command would be simpler, but then monitors would fail while the queue is
// full, when they are needed.

#pragma once

#include <algorithm>
#include <cstdint>

#include "haricot/base/check.hpp"
#include "haricot/base/memory.hpp"
#include "haricot/service/session.hpp"

namespace haricot {

class PageLimit {
 public:
  // Maximum number of pending pages while the memory limit is reached.
  static constexpr std::uint32_t kPagesMax = 4;

  PageLimit() = default;
  PageLimit(const PageLimit&) = delete;
  PageLimit& operator=(const PageLimit&) = delete;

  // Returns the number of pages that may begin now. At most kPagesMax even if memory is free, so
  // that woken sessions exceed the memory limit by at most that many pages.
  std::uint32_t free_pages() const {
    return Memory::is_at_limit() ? kPagesMax - std::min(pages_, kPagesMax) : kPagesMax;
  }
  // Counts the page that the session begins, unless it has one already.
  void begin(Session& session) {
    if (session.has_page) return;
    session.has_page = true;
    ++pages_;
  }
  // Uncounts the page of a session after a send, if all of the page was sent.
  void end_if_sent(Session& session) {
    if (session.has_page) [[unlikely]]
      end_if_complete(session);
  }
  // Uncounts the page of a session that is about to be closed.
  void remove(Session& session) {
    if (!session.has_page) return;
    CHECK(pages_ > 0);
    session.has_page = false;
    --pages_;
  }

 private:
  // A list in pieces may be incomplete even if the output is empty.
  [[gnu::cold, gnu::noinline]] void end_if_complete(Session& session) {
    if (!session.has_output() && !session.is_answered_in_pieces()) remove(session);
  }

  std::uint32_t pages_ = 0;  // Sessions with Session::has_page.
};

}  // namespace haricot
