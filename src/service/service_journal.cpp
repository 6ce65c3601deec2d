// What waits for the journal's disk: answers to what is recorded and not safe yet, and commands
// that cannot be recorded before the disk has moved.

#include <algorithm>

#include "haricot/base/check.hpp"
#include "haricot/base/turn_limits.hpp"
#include "haricot/service/service.hpp"

namespace haricot {

// Answers -----------------------------------------------------------------------------------------

// Keeps back the answers of a session whose last command made records up to that one.
void Service::hold_back_if_not_safe(Session& session, std::uint64_t records) {
  const JournalProgress progress = journal_.progress();
  if (records <= progress.safe) return;
  CHECK(records <= progress.records);
  session.held_back_until_ = records;
  if (session.is_held_back_) {
    // The list stays in the order of the records.
    if (held_back_.after(session) == nullptr) return;
    held_back_.remove(session);
    held_back_.push_back(session);
    return;
  }
  if (session.to_send_.linked()) to_send_.remove(session);
  held_back_.push_back(session);
  session.is_held_back_ = true;
  session.held_back_turn_ = turn_;
}

// Releases sessions in the order of their records, as many as a turn may send. The rest leaves in
// the next turns, which come at once.
void Service::settle_held_back() {
  const JournalProgress progress = journal_.progress();
  const std::uint64_t known = std::max(progress.safe, progress.doubtful);
  const Budget budget(engine_.steps(), turn_limits::kStepsOfAnswers);
  while (!held_back_.empty() && held_back_.front().held_back_until_ <= known) {
    has_safe_answers_ = budget.is_used_up();
    if (has_safe_answers_) return;
    Session& session = held_back_.front();
    CHECK(session.is_held_back_);
    if (session.held_back_until_ > progress.safe) answer_as_failed(session);
    engine_.steps() += turn_limits::kStepsPerSend;
    session.is_held_back_ = false;
    held_back_.remove(session);
    mark_to_send(session);
    wake(session);
    if (session.is_finished()) engine_.steps() += turn_limits::kStepsPerClose;
  }
}

// What was held back reports changes that the journal could not write. They have happened here, and
// may be written later or not; whoever asked for them must not take them for done.
void Service::answer_as_failed(Session& session) {
  session.output_.cut_back(session.held_back_mark_);
  engine_.steps() += session.held_back_answers_;
  for (std::uint32_t i = session.held_back_answers_; i > 0; --i) {
    if (!session.output_.add({ReplyCode::internal_error})) end(session, Stopped::quit);
  }
}

// Commands ----------------------------------------------------------------------------------------

// A command that cannot be recorded before the disk has done something stays in the session's
// input. The session runs nothing until then, and no more than kInputBytesMax is read of it: so
// whoever writes faster than the disk is slowed down, and nobody else.
void Service::defer(Session& session) {
  session.stopped_ = Stopped::deferred;
  deferred_.push_back(session);
}

// All at once: how many of them the journal takes now it can only tell when it is asked.
void Service::try_again(Instant now) {
  for (Session* session = deferred_.first(); session != nullptr;
       session = deferred_.after(*session)) {
    CHECK(session->stopped_ == Stopped::deferred);
    session->stopped_ = Stopped::has_had_share;
  }
  backlog_.append(deferred_);
  engine_.go_on_with_tasks(now);
  hand_out_deliveries();
}

}  // namespace haricot
