#include "haricot/service/service.hpp"

#include <algorithm>
#include <new>

#include "haricot/service/service_serializer.hpp"

namespace haricot {

Service::Service(const ServerInfo& info, Journal& journal, Instant now, const HashKey& key)
    : journal_(journal),
      engine_(now, journal, key),
      dispatcher_(engine_, journal, info, cushion_, now),
      turn_{.began = now},
      shares_(engine_.steps()),
      run_queue_(turn_),
      outbox_(engine_, journal, dispatcher_, cushion_, run_queue_, turn_),
      lists_(engine_, run_queue_, outbox_, turn_),
      idle_(info.limits, engine_, dispatcher_, outbox_, turn_),
      runner_({.engine = engine_,
               .journal = journal,
               .dispatcher = dispatcher_,
               .cushion = cushion_,
               .turn = turn_,
               .shares = shares_,
               .run_queue = run_queue_,
               .page_limit = page_limit_,
               .outbox = outbox_,
               .lists = lists_}) {
  engine_.limit_tries(info.limits.tries_max);
  if (info.limits.job_memory_bytes_max > 0) {
    engine_.memory().limit(info.limits.job_memory_bytes_max);
  }
}

Service::~Service() {
  while (Session* const session = first_session()) close(*session, Instant{});
}

// Sessions ----------------------------------------------------------------------------------------

bool Service::admit_connection() {
  const std::uint32_t allowed = dispatcher_.info().limits.connections_max;
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
  runner_.remove(session);
  engine_.close(session.client(), now);
  run_queue_.remove(session);
  outbox_.remove(session);
  idle_.remove(session);
  delete &session;
  outbox_.answer_deliveries();  // Waiting clients may have got its jobs.
}

// A turn ------------------------------------------------------------------------------------------

void Service::advance(Instant now) {
  turn_.begin(now);
  shares_.begin_turn();
  engine_.advance(now);
  begin_commands();
  idle_.end_idle_sessions(now);
}

void Service::advance_tasks(Instant now) {
  turn_.begin(now);
  shares_.begin_turn();
  engine_.advance_tasks(now);
  begin_commands();
}

inline void Service::begin_commands() {
  outbox_.answer_deliveries();
  shares_.begin_reading(!run_queue_.is_empty());
}

void Service::receive(Session& session, std::string_view bytes, Instant now) {
  idle_.mark_active(session);
  runner_.receive(session, bytes, now);
}

void Service::receive_directly(Session& session, std::size_t bytes) {
  idle_.mark_active(session);
  runner_.receive_directly(session, bytes);
}

// A session that has more commands than its share goes to the end of the backlog. A session whose
// command exceeds the rest of the budget keeps its place and ends the round: the next turn has a
// full budget.
//
// Each session is passed to its connection, because a session in a body may want input again
// without a new answer.
void Service::run_backlog(Instant now) {
  // Asks even if no session waits, because the journal requests turns until it is asked.
  if (journal_.may_try_again()) [[unlikely]]
    retry_deferred(now);
  if (run_queue_.is_short_of_memory()) run_queue_.wake_for_memory(page_limit_.free_pages());
  if (run_queue_.is_empty()) return;
  run_queue_.begin_round();
  shares_.begin_backlog();
  while (!shares_.is_used_up()) {
    Session* const session = run_queue_.take_next();
    if (session == nullptr) break;
    runner_.run_kept(*session, now, shares_.share_of_waiting());
    outbox_.push(*session);
    if (session->stopped() == Session::Stopped::put_off) {
      run_queue_.keep_place(*session);
      break;
    }
  }
  run_queue_.end_round();
}

void Service::retry_deferred(Instant now) {
  run_queue_.retry_deferred();
  engine_.resume_tasks(now);
  outbox_.answer_deliveries();
}

void Service::end_turn(Instant now) {
  journal_.end_turn(now);
  outbox_.release_safe();
}

void Service::sent(Session& session, std::size_t bytes) {
  if (bytes > 0) idle_.mark_active(session);
  outbox_.consume(session, bytes);
  page_limit_.end_if_sent(session);
  run_queue_.wake(session);
  // The connection is closed when the last of its output is sent.
  if (session.is_finished() && !session.has_output()) outbox_.push(session);
}

Instant Service::next_event() const {
  if (!run_queue_.is_empty() || outbox_.has_safe() || can_wake_for_memory()) return Instant{};
  return std::min({engine_.next_event(), journal_.next_event(), idle_.next_check()});
}

// Hand-over ---------------------------------------------------------------------------------------

ServiceSerializer Service::serializer() {
  return ServiceSerializer({.service = *this,
                            .engine = engine_,
                            .dispatcher = dispatcher_,
                            .turn = turn_,
                            .run_queue = run_queue_,
                            .outbox = outbox_,
                            .lists = lists_,
                            .idle = idle_});
}

}  // namespace haricot
