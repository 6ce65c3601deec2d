// The list of all open sessions, and the idle timeout, which ends inactive sessions.
//
// A session is idle if no byte of a request arrives and no byte of an answer is sent, unless it is
// occupied: it waits for a job, holds one, or waits for the server (a kick under way, an answer
// that is held back, commands left from the turn before). Half a command that arrived is idle, and
// so are answers that the client does not read.
//
// With a timeout, the list is in the order of the last activity. So a command moves one link to the
// end of the list, and a check visits only sessions whose timeout has ended. An occupied session is
// moved to the end as if it had been active.
//
// A session can lose a held job by its TTR at an instant that is not known here. So a session that
// was occupied when it was last active or checked gets one more period. No session ends sooner than
// the timeout after it was last active or occupied, and a session that has lost a job ends at most
// after twice the time.
//
// A byte that arrives in time counts, although the turn that reads it checks for idle sessions
// first: a session ends two turns after its deadline, and between them the server reads everything
// that has arrived. If more sources are ready than one turn reads, a byte may be read too late.
//
// A late check means that the server was stopped or handed over. It has not read the input of that
// time yet, so no session ends until it had time to read.

#pragma once

#include "haricot/base/intrusive_list.hpp"
#include "haricot/base/serialization.hpp"
#include "haricot/base/time.hpp"
#include "haricot/queue/engine.hpp"
#include "haricot/service/dispatcher.hpp"
#include "haricot/service/outbox.hpp"
#include "haricot/service/server_info.hpp"
#include "haricot/service/session.hpp"

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
  // Return the open sessions one after another, in no particular order; null at the end.
  Session* first() { return sessions_.first(); }
  Session* after(const Session& session) { return sessions_.after(session); }

  // Notes that bytes have arrived or were sent.
  void mark_active(Session& session) {
    if (has_timeout()) move_to_end(session);
  }
  // Ends the sessions whose timeout has ended, a bounded number in each turn.
  void end_idle_sessions(Instant now) {
    if (has_timeout()) check_oldest(now);
  }
  // Returns the instant of the next check; never() without a timeout.
  Instant next_check() const;

  // Write and read the state of a session for a hand-over.
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
  Instant no_end_before_;  // Set by a late check.
};

}  // namespace haricot
