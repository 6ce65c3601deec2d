// What waits for the journal's disk: answers to what is recorded and not safe yet, and commands
// that cannot be recorded before the disk has moved.

#include <algorithm>

#include "haricot/base/check.hpp"
#include "haricot/service/service.hpp"

namespace haricot {

// Answers -----------------------------------------------------------------------------------------

void Service::settle_held_back() {
  const JournalProgress progress = journal_.progress();
  Session* next = nullptr;
  for (Session* session = held_back_.first(); session != nullptr; session = next) {
    next = held_back_.after(*session);
    CHECK(session->is_held_back_);
    if (session->held_back_until_ > std::max(progress.safe, progress.doubtful)) continue;
    if (session->held_back_until_ > progress.safe) answer_as_failed(*session);
    session->is_held_back_ = false;
    held_back_.remove(*session);
    mark_to_send(*session);
    wake(*session);
  }
}

// What was held back reports changes that the journal could not write. They have happened here, and
// may be written later or not; whoever asked for them must not take them for done.
void Service::answer_as_failed(Session& session) {
  session.output_.cut_back(session.held_back_mark_);
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
