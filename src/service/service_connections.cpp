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
  auto* session = new (std::nothrow) Session(owner, commands, turn_.began);
  if (session == nullptr) return nullptr;
  if (!engine_.open(session->client())) {
    delete session;
    return nullptr;
  }
  sessions_.push_back(*session);
  dispatcher_.count_connection();
  return session;
}

void Service::close(Session& session, Instant now) {
  forget_list(session);
  page_limit_.remove(session);
  dispatcher_.forget_put(session.requests.reader.put());
  engine_.close(session.client(), now);
  run_queue_.remove(session);
  if (session.is_held_back()) {
    held_back_.remove(session);
  } else if (session.send.hook.linked()) {
    to_send_.remove(session);
  }
  sessions_.remove(session);
  delete &session;
  hand_out_deliveries();  // Jobs that it held may have come to others.
}

}  // namespace haricot
