// The sessions that have commands left:
//
//   backlog       runs in this turn or the next ones, in this order
//   deferred      the next command waits for the journal's disk
//   short         the next command waits for memory
//
// A session is in at most one of these lists. A session with an obstacle is in none, and returns by
// wake().
//
// The backlog runs in rounds, one in each turn: each session of the round runs once, in order. A
// session that enters the backlog during a round runs in the next one, behind the rest of this one.

#pragma once

#include <cstdint>

#include "haricot/base/intrusive_list.hpp"
#include "haricot/service/session.hpp"

namespace haricot {

class RunQueue {
 public:
  using Stopped = Session::Stopped;

  // The turn outlives this.
  explicit RunQueue(const Turn& turn) : turn_(turn) {}
  RunQueue(const RunQueue&) = delete;
  RunQueue& operator=(const RunQueue&) = delete;

  // Add a session that runs, or was just taken from a list, to one of the lists. `why` is
  // Stopped::has_had_share or Stopped::put_off.
  void push(Session& session, Stopped why);
  void defer(Session& session);
  void wait_for_memory(Session& session);
  // Removes the session from its list, if it is in one. Its Stopped is no longer correct then.
  void remove(Session& session);
  // Reports that an obstacle of the session has ended. If the session has no other obstacle, it
  // enters the backlog, unless it has nothing to run.
  void wake(Session& session) {
    if (session.has_obstacle()) find_obstacle(session);
  }
  // Sets Stopped of a session that is in no list, and adds the session to the backlog if nothing
  // stops it.
  void find_obstacle(Session& session);

  // Returns true if the backlog is empty. Requires: no round is in progress.
  bool is_empty() const { return backlog_.empty(); }
  void begin_round() { round_.append(backlog_); }
  // Removes and returns the next session of the round; null if there is none.
  Session* take_next();
  // Moves a session that was put off back to the front of the round.
  void keep_place(Session& session);
  void end_round();

  // Moves all deferred sessions to the backlog, in O(1). It is not known beforehand how many of
  // their commands the journal accepts.
  void retry_deferred();
  bool is_short_of_memory() const { return !short_of_memory_.empty(); }
  // Moves at most `sessions` sessions that wait for memory to the backlog.
  void wake_for_memory(std::uint32_t sessions);

 private:
  using List = IntrusiveList<Session, &Session::to_run>;

  const Turn& turn_;
  List backlog_;
  List round_;  // The rest of the round; empty between rounds.
  List deferred_;
  List short_of_memory_;
};

}  // namespace haricot
