// The idle timeout: connections over which nothing moves, and which nobody is going to miss.
//
// A session is idle as long as no byte of a request arrives and no byte of an answer is taken. One
// that waits for a job, holds one, or waits for us (a kick under way, an answer held back for the
// disk, commands left from the turn before) is not: it is occupied. Half a command that arrived
// and does not go on is idle, and so are answers that nobody reads.
//
// The sessions' list is kept in the order of their last activity, so a command costs moving one
// link to its end, and a look costs the sessions that it finds too old. An occupied one is put to
// the end as if it had been active. A wait ends with an answer, but a job that is held is lost by
// its TTR without a byte; when that was is not known here. So one that was occupied when it was
// active or looked at last is given one more period. Nobody is closed sooner than the timeout after
// he was last active or occupied, and who lost a job at most after twice the time.
//
// A byte that arrives in time counts, although the turn that reads it looks for idle sessions
// first: a session is closed two turns after its time, and between them everything was read that
// was there. Only if more sources are ready than one turn reads, the rest may be late by as many
// turns as that takes.
//
// A look that comes late says that the server was away: stopped, or handed over. What was sent
// meanwhile is not read yet, so nobody is closed until it had time to read that.

#include <algorithm>
#include <utility>

#include "haricot/base/budget.hpp"
#include "haricot/base/turn_limits.hpp"
#include "haricot/service/service.hpp"

namespace haricot {
namespace {

// No turn takes nearly as long.
constexpr Duration kLate = Duration::milliseconds(100);
// What comes to tens of thousands of connections is read in less.
constexpr Duration kTimeToRead = Duration::seconds(1);

}  // namespace

void Service::mark_active(Session& session) {
  session.idle.active = turn_.began;
  session.idle.was_occupied = session.is_occupied();
  sessions_.remove(session);
  sessions_.push_back(session);
}

void Service::look_for_idle(Instant now) {
  if (std::max(last_look_, next_idle_look()) + kLate < now) no_end_before_ = now + kTimeToRead;
  const Instant read_until = std::exchange(look_before_last_, std::exchange(last_look_, now));
  // The rest waits for the next turn, which is at once.
  const Budget budget(engine_.steps(), turn_limits::kStepsOfIdle);
  while (!budget.is_used_up() && next_idle_look() <= now) {
    Session& session = sessions_.front();
    const bool ends = !session.idle.was_occupied && !session.is_occupied();
    if (ends && next_idle_look() > read_until) return;
    mark_active(session);
    engine_.steps() += turn_limits::kStepsPerTimer;
    if (ends) end_idle(session);
  }
}

Instant Service::next_idle_look() const {
  if (limits_.idle_timeout_s == 0 || sessions_.empty()) return Instant::never();
  return std::max(sessions_.front().idle.active + Duration::seconds(limits_.idle_timeout_s),
                  no_end_before_);
}

// What is in the output would keep the connection open until it is read. (Its memory goes with the
// session. Given back here, it would cost every command: the compiler would no longer inline it.)
void Service::end_idle(Session& session) {
  if (session.was_idle()) return;
  engine_.steps() += turn_limits::kStepsPerClose;
  session.output().cut_back({});
  dispatcher_.count_idle_connection();
  end(session, Stopped::idle);
}

}  // namespace haricot
