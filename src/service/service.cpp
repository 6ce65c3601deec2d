#include "haricot/service/service.hpp"

#include <algorithm>
#include <new>

#include "haricot/service/service_serializer.hpp"

namespace haricot {

Service::Service(const ServerInfo& info, Journal& journal, Instant now, const HashKey& key)
    : parts_(info, journal, now, key) {
  parts_.engine.limit_tries(info.limits.tries_max);
  if (info.limits.job_memory_bytes_max > 0) {
    parts_.engine.memory().limit(info.limits.job_memory_bytes_max);
  }
}

Service::~Service() {
  while (Session* const session = first_session()) close(*session, Instant{});
}

// Sessions ----------------------------------------------------------------------------------------

bool Service::admit_connection() {
  const std::uint32_t allowed = parts_.dispatcher.info().limits.connections_max;
  if (allowed == 0 || parts_.engine.counts().clients < allowed) return true;
  parts_.dispatcher.count_refused_connection();
  return false;
}

Session* Service::open(void* owner, bool is_local) {
  CommandSet commands = parts_.dispatcher.info().commands;
  if (is_local && commands == CommandSet::extended) commands = CommandSet::operators;
  auto* session = new (std::nothrow) Session(owner, commands, parts_.turn.began);
  if (session == nullptr) return nullptr;
  if (!parts_.engine.open(session->client())) {
    delete session;
    return nullptr;
  }
  parts_.idle.add(*session);
  parts_.dispatcher.count_connection();
  return session;
}

void Service::close(Session& session, Instant now) {
  parts_.lists.remove(session);
  parts_.page_limit.remove(session);
  requests::remove(parts_, session);
  parts_.engine.close(session.client(), now);
  parts_.run_queue.remove(session);
  parts_.outbox.remove(session);
  parts_.idle.remove(session);
  delete &session;
  parts_.outbox.answer_deliveries();  // Waiting clients may have got its jobs.
}

// A turn ------------------------------------------------------------------------------------------

void Service::advance(Instant now) {
  parts_.turn.begin(now);
  parts_.shares.begin_turn();
  parts_.engine.advance(now);
  begin_commands();
  parts_.idle.end_idle_sessions(now);
}

void Service::advance_tasks(Instant now) {
  parts_.turn.begin(now);
  parts_.shares.begin_turn();
  parts_.engine.advance_tasks(now);
  begin_commands();
}

inline void Service::begin_commands() {
  parts_.outbox.answer_deliveries();
  parts_.shares.begin_reading(!parts_.run_queue.is_empty());
}

void Service::receive(Session& session, std::string_view bytes, Instant now) {
  parts_.idle.mark_active(session);
  requests::receive(parts_, session, bytes, now);
}

void Service::receive_directly(Session& session, std::size_t bytes) {
  parts_.idle.mark_active(session);
  requests::receive_directly(parts_, session, bytes);
}

// A session that has more commands than its share goes to the end of the backlog. A session whose
// command exceeds the rest of the budget keeps its place and ends the round: the next turn has a
// full budget.
//
// Each session is passed to its connection, because a session in a body may want input again
// without a new answer.
void Service::run_backlog(Instant now) {
  // Asks even if no session waits, because the journal requests turns until it is asked.
  if (parts_.journal.may_try_again()) [[unlikely]]
    retry_deferred(now);
  if (parts_.run_queue.is_short_of_memory())
    parts_.run_queue.wake_for_memory(parts_.page_limit.free_pages());
  if (parts_.run_queue.is_empty()) return;
  parts_.run_queue.begin_round();
  parts_.shares.begin_backlog();
  while (!parts_.shares.is_used_up()) {
    Session* const session = parts_.run_queue.take_next();
    if (session == nullptr) break;
    requests::run_kept(parts_, *session, now, parts_.shares.share_of_waiting());
    parts_.outbox.push(*session);
    if (session->stopped() == Session::Stopped::put_off) {
      parts_.run_queue.keep_place(*session);
      break;
    }
  }
  parts_.run_queue.end_round();
}

void Service::retry_deferred(Instant now) {
  parts_.run_queue.retry_deferred();
  parts_.engine.resume_tasks(now);
  parts_.outbox.answer_deliveries();
}

void Service::end_turn(Instant now) {
  parts_.journal.end_turn(now);
  parts_.outbox.release_safe();
}

void Service::sent(Session& session, std::size_t bytes) {
  if (bytes > 0) parts_.idle.mark_active(session);
  parts_.outbox.consume(session, bytes);
  parts_.page_limit.end_if_sent(session);
  parts_.run_queue.wake(session);
  // The connection is closed when the last of its output is sent.
  if (session.is_finished() && !session.has_output()) parts_.outbox.push(session);
}

Instant Service::next_event() const {
  if (!parts_.run_queue.is_empty() || parts_.outbox.has_safe() || can_wake_for_memory())
    return Instant{};
  return std::min(
      {parts_.engine.next_event(), parts_.journal.next_event(), parts_.idle.next_check()});
}

// Hand-over ---------------------------------------------------------------------------------------

ServiceSerializer Service::serializer() {
  return ServiceSerializer(*this, parts_);
}

}  // namespace haricot
