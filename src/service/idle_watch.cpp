#include "haricot/service/idle_watch.hpp"

#include <algorithm>
#include <utility>

#include "haricot/base/turn_limits.hpp"

namespace haricot {
namespace {

// Longer than any turn takes.
constexpr Duration kLate = Duration::milliseconds(100);
// Enough to read the input of tens of thousands of connections.
constexpr Duration kTimeToRead = Duration::seconds(1);

}  // namespace

IdleWatch::IdleWatch(const Limits& limits, Engine& engine, Dispatcher& dispatcher, Outbox& outbox,
                     const Turn& turn)
    : limits_(limits), engine_(engine), dispatcher_(dispatcher), outbox_(outbox), turn_(turn) {}

void IdleWatch::move_to_end(Session& session) {
  session.idle.active = turn_.began;
  session.idle.was_occupied = session.is_occupied();
  sessions_.remove(session);
  sessions_.push_back(session);
}

void IdleWatch::check_oldest(Instant now) {
  if (std::max(last_check_, next_check()) + kLate < now) no_end_before_ = now + kTimeToRead;
  const Instant read_until = std::exchange(check_before_last_, std::exchange(last_check_, now));
  // The rest is checked in the next turn, which begins at once.
  const Budget budget(engine_.steps(), turn_limits::kStepsOfIdle);
  while (!budget.is_used_up() && next_check() <= now) {
    Session& session = sessions_.front();
    const bool ends = !session.idle.was_occupied && !session.is_occupied();
    if (ends && next_check() > read_until) return;
    move_to_end(session);
    engine_.steps() += turn_limits::kStepsPerTimer;
    if (ends) end(session);
  }
}

Instant IdleWatch::next_check() const {
  if (!has_timeout() || sessions_.empty()) return Instant::never();
  return std::max(sessions_.front().idle.active + Duration::seconds(limits_.idle_timeout_s),
                  no_end_before_);
}

// Drops the output, because it would keep the connection open until it is read. Its memory is freed
// with the session: a second call of the function that frees it would keep the compiler from
// inlining it, which would slow down every command.
void IdleWatch::end(Session& session) {
  if (session.was_idle()) return;
  engine_.steps() += turn_limits::kStepsPerClose;
  session.output().cut_back_to_begin();
  dispatcher_.count_idle_connection();
  outbox_.end(session, Session::Stopped::idle);
}

// Without a timeout there is no record of the last activity, so the idle time begins now.
void IdleWatch::write(StateWriter& to, const Session& session) const {
  to.value(has_timeout() ? session.idle.was_occupied : session.is_occupied());
  to.value(has_timeout() ? session.idle.active : turn_.began);
}

void IdleWatch::read(StateReader& from, Session& session) {
  from.value(session.idle.was_occupied);
  from.value(session.idle.active);
}

}  // namespace haricot
