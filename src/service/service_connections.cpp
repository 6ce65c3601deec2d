// Sessions come and go.

#include <new>

#include "haricot/service/service.hpp"

namespace haricot {

bool Service::admit_connection() {
  const std::uint32_t allowed = limits_.connections_max;
  if (allowed == 0 || engine_.counts().clients < allowed) return true;
  dispatcher_.count_refused_connection();
  return false;
}

Session* Service::open(void* owner, bool is_local) {
  CommandSet commands = dispatcher_.info().commands;
  if (is_local && commands == CommandSet::extended) commands = CommandSet::operators;
  auto* session = new (std::nothrow) Session(owner, commands);
  if (session == nullptr) return nullptr;
  if (!engine_.open(session->client_)) {
    delete session;
    return nullptr;
  }
  session->active_ = now_;
  session->came_ = CoarseInstant(now_);
  session->still_since_ = CoarseInstant(now_);
  sessions_.push_back(*session);
  dispatcher_.count_connection();
  return session;
}

void Service::close(Session& session, Instant now) {
  forget_list(session);
  if (session.has_page_) --pages_;
  dispatcher_.forget_put(session.reader_.put());
  engine_.close(session.client_, now);
  leave_backlog(session);
  if (session.is_held_back_) {
    held_back_.remove(session);
  } else if (session.to_send_.linked()) {
    to_send_.remove(session);
  }
  sessions_.remove(session);
  delete &session;
  hand_out_deliveries();  // Jobs that it held may have come to others.
}

}  // namespace haricot
