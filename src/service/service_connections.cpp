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
  idle_.add(*session);
  dispatcher_.count_connection();
  return session;
}

void Service::close(Session& session, Instant now) {
  lists_.remove(session);
  page_limit_.remove(session);
  dispatcher_.forget_put(session.requests.reader.put());
  engine_.close(session.client(), now);
  run_queue_.remove(session);
  outbox_.remove(session);
  idle_.remove(session);
  delete &session;
  outbox_.answer_deliveries();  // Other clients may have got its jobs.
}

}  // namespace haricot
