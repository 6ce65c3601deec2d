#include "haricot/service/page_limit.hpp"

#include "haricot/base/check.hpp"

namespace haricot {

void PageLimit::begin(Session& session) {
  if (session.has_page) return;
  session.has_page = true;
  ++pages_;
}

// A list in pieces may be incomplete even if the output is empty.
void PageLimit::end_if_complete(Session& session) {
  if (!session.has_output() && !session.is_answered_in_pieces()) remove(session);
}

void PageLimit::remove(Session& session) {
  if (!session.has_page) return;
  CHECK(pages_ > 0);
  session.has_page = false;
  --pages_;
}

}  // namespace haricot
