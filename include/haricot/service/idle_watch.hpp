// All open sessions, and the idle timeout, which ends sessions over which nothing moves.
//
// A session is idle if no byte of a request arrives and no byte of an answer is sent, unless it is
// occupied: it waits for a job, holds one, or waits for the server (a kick under way, an answer
// that is held back, commands left from the turn before). Half a command that arrived is idle, and
// so are answers that the client does not read.
//
// With a timeout, the list is in the order of the last activity. So a command costs moving one link
// to its end, and a check costs the sessions that it finds too old. An occupied one is moved to the
// end as if it had been active. A wait ends with an answer, but a held job is lost by its TTR
// without a byte, at an instant that is not known here. So a session that was occupied when it was
// last active or checked gets one more period. No session ends sooner than the timeout after it was
// last active or occupied, and a session that has lost a job ends at most after twice the time.
//
// A byte that arrives in time counts, although the turn that reads it checks for idle sessions
// first: a session ends two turns after its deadline, and between them everything was read that had
// arrived. Only if more sources are ready than one turn reads, the rest may be late by as many
// turns as that takes.
//
// A late check means that the server was away: stopped, or handed over. What was sent meanwhile is
// not read yet, so no session ends before there was time to read it.

#pragma once

#include "haricot/base/intrusive_list.hpp"
#include "haricot/base/state_stream.hpp"
#include "haricot/base/time.hpp"
#include "haricot/queue/engine.hpp"
#include "haricot/service/dispatcher.hpp"
#include "haricot/service/outbox.hpp"
#include "haricot/service/server_info.hpp"
#include "haricot/service/session.hpp"
#include "haricot/service/turn.hpp"

namespace haricot {

class IdleWatch {
 public:
  // All outlive this.
  IdleWatch(const Limits& limits, Engine& engine, Dispatcher& dispatcher, Outbox& outbox,
            const Turn& turn);
  IdleWatch(const IdleWatch&) = delete;
  IdleWatch& operator=(const IdleWatch&) = delete;

  void add(Session& session) { sessions_.push_back(session); }
  void remove(Session& session) { sessions_.remove(session); }
  // Returns one open session after another, in no order that means anything; null at the end.
  Session* first() { return sessions_.first(); }
  Session* after(const Session& session) { return sessions_.after(session); }

  // Notes that bytes have arrived or were sent.
  void mark_active(Session& session) {
    if (has_timeout()) move_to_end(session);
  }
  // Ends the sessions whose timeout has ended, as many as a turn may.
  void end_idle_sessions(Instant now) {
    if (has_timeout()) check_oldest(now);
  }
  // Returns the instant of the next check; never() without a timeout.
  Instant next_check() const;

  // For a restart.
  void write(StateWriter& to, const Session& session) const;
  static void read(StateReader& from, Session& session);

 private:
  bool has_timeout() const { return limits_.idle_timeout_s > 0; }
  void move_to_end(Session& session);
  void check_oldest(Instant now);
  void end(Session& session);

  const Limits& limits_;
  Engine& engine_;
  Dispatcher& dispatcher_;
  Outbox& outbox_;
  const Turn& turn_;
  IntrusiveList<Session, &Session::idle, &Session::IdleNode::hook> sessions_;
  Instant last_check_;
  Instant check_before_last_;
  Instant no_end_before_;  // After a late check.
};

}  // namespace haricot
