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
  if (session.is_held_back()) {
    session.send.until = records;
    // The list stays in the order of the records.
    if (held_back_.after(session) == nullptr) return;
    held_back_.remove(session);
    held_back_.push_back(session);
    return;
  }
  if (session.send.hook.linked()) to_send_.remove(session);
  held_back_.push_back(session);
  session.send.until = records;
  session.send.turn = turn_.number;
}

// Releases sessions in the order of their records, as many as a turn may send. The rest leaves in
// the next turns, which come at once.
void Service::settle_held_back() {
  const JournalProgress progress = journal_.progress();
  const std::uint64_t known = std::max(progress.safe, progress.doubtful);
  const Budget budget(engine_.steps(), turn_limits::kStepsOfAnswers);
  while (!held_back_.empty() && held_back_.front().send.until <= known) {
    has_safe_answers_ = budget.is_used_up();
    if (has_safe_answers_) return;
    Session& session = held_back_.front();
    CHECK(session.is_held_back());
    if (session.send.until > progress.safe) answer_as_failed(session);
    engine_.steps() += turn_limits::kStepsPerSend;
    session.send.until = Session::SendNode::kNothing;
    held_back_.remove(session);
    mark_to_send(session);
    run_queue_.wake(session);
    if (session.is_finished()) engine_.steps() += turn_limits::kStepsPerClose;
  }
}

// What was held back reports changes that the journal could not write. They have happened here, and
// may be written later or not; whoever asked for them must not take them for done.
void Service::answer_as_failed(Session& session) {
  session.output().cut_back(session.send.mark);
  engine_.steps() += session.send.answers;
  for (std::uint32_t i = session.send.answers; i > 0; --i) {
    if (!session.output().add({ReplyCode::internal_error})) end(session, Stopped::quit);
  }
}

// Commands ----------------------------------------------------------------------------------------

void Service::try_again(Instant now) {
  run_queue_.retry_deferred();
  engine_.go_on_with_tasks(now);
  hand_out_deliveries();
}

}  // namespace haricot
