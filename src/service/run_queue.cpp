#include "haricot/service/run_queue.hpp"

#include "haricot/base/check.hpp"

namespace haricot {

void RunQueue::push(Session& session, Stopped why) {
  session.stop(why);
  backlog_.push_back(session);
}

// Leaves a command in the input of its session until the journal's disk has made progress. The
// session runs no command until then, and its connection reads at most kInputBytesMax. So only
// clients that write faster than the disk are slowed down.
void RunQueue::defer(Session& session) {
  session.stop(Stopped::deferred);
  deferred_.push_back(session);
}

void RunQueue::wait_for_memory(Session& session) {
  session.stop(Stopped::deferred);
  short_of_memory_.push_back(session);
}

// The link is in the session, so any list can remove it.
void RunQueue::remove(Session& session) {
  if (session.to_run.linked()) backlog_.remove(session);
}

void RunQueue::find_obstacle(Session& session) {
  session.stop(session.obstacle(turn_.number));
  if (session.stopped() != Stopped::not_stopped) return;
  if (session.has_work()) {
    push(session, Stopped::has_had_share);
  } else {
    session.stop(Stopped::needs_input);
  }
}

Session* RunQueue::take_next() {
  if (round_.empty()) return nullptr;
  Session& session = round_.front();
  round_.remove(session);
  return &session;
}

void RunQueue::keep_place(Session& session) {
  CHECK(session.stopped() == Stopped::put_off);
  backlog_.remove(session);
  round_.push_front(session);
}

void RunQueue::end_round() {
  round_.append(backlog_);
  backlog_.append(round_);
}

void RunQueue::retry_deferred() {
  backlog_.append(deferred_);
}

void RunQueue::wake_for_memory(std::uint32_t sessions) {
  for (std::uint32_t i = 0; i < sessions && !short_of_memory_.empty(); ++i) {
    Session& session = short_of_memory_.front();
    short_of_memory_.remove(session);
    push(session, Stopped::has_had_share);
  }
}

}  // namespace haricot
