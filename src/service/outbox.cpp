#include "haricot/service/outbox.hpp"

#include <algorithm>

#include "haricot/base/check.hpp"
#include "haricot/base/turn_limits.hpp"

namespace haricot {

Outbox::Outbox(Engine& engine, Journal& journal, Dispatcher& dispatcher, MemoryCushion& cushion,
               RunQueue& run_queue, const Turn& turn)
    : engine_(engine),
      journal_(journal),
      dispatcher_(dispatcher),
      cushion_(cushion),
      run_queue_(run_queue),
      turn_(turn) {}

// Answers -----------------------------------------------------------------------------------------

// Inlined into answer(), because a call would make every command slower.
[[gnu::always_inline]] inline void Outbox::add(Session& session, const Reply& reply) {
  Output& output = session.output();
  output.take_memory(spare_);
  if (output.add(reply)) [[likely]]
    return;
  cushion_.give_up();
  if (!output.add(reply)) end(session, Session::Stopped::quit);
}

void Outbox::answer(Session& session, const Reply& reply) {
  if (reply.code == ReplyCode::none) {
    session.restart_idle_time(turn_.began);
    return;
  }
  ++session.send.answers;
  if (reply.code == ReplyCode::out_of_memory) cushion_.give_up();
  add(session, reply);
  if (reply.code == ReplyCode::reserved_batch) [[unlikely]] {
    for (const JobRef job : dispatcher_.batch()) {
      add(session, dispatcher_.with_job(ReplyCode::reserved, job));
    }
  }
  push(session);
}

void Outbox::answer_each_delivery() {
  for (const Delivery& delivery : engine_.deliveries()) {
    CHECK(delivery.client->owner() != nullptr);
    Session& session = *static_cast<Session*>(delivery.client->owner());
    CHECK(!session.is_answered_in_pieces());
    session.restart_idle_time(turn_.began);
    begin_answers(session);
    answer(session, dispatcher_.delivered(delivery));
    // Waits for all records: the ones of a long task are not stored separately.
    if (delivery.reports_later_records()) hold_back(session);
    run_queue_.wake(session);
  }
  engine_.clear_deliveries();
}

void Outbox::end(Session& session, Session::Stopped how) {
  run_queue_.remove(session);
  session.stop(how);
  push(session);
}

// Holding back ------------------------------------------------------------------------------------

void Outbox::hold_back_until(Session& session, std::uint64_t records) {
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

// The rest is released in the next turns, which begin at once.
void Outbox::release_held_back() {
  const JournalProgress progress = journal_.progress();
  const std::uint64_t known = std::max(progress.safe, progress.doubtful);
  const Budget budget(engine_.steps(), turn_limits::kStepsOfAnswers);
  while (!held_back_.empty() && held_back_.front().send.until <= known) {
    has_safe_ = budget.is_used_up();
    if (has_safe_) return;
    Session& session = held_back_.front();
    CHECK(session.is_held_back());
    if (session.send.until > progress.safe) answer_as_failed(session);
    engine_.steps() += turn_limits::kStepsPerSend;
    session.send.until = Session::SendNode::kNothing;
    held_back_.remove(session);
    push(session);
    run_queue_.wake(session);
    if (session.is_finished()) engine_.steps() += turn_limits::kStepsPerClose;
  }
}

// Replaces answers that report changes that the journal could not write. The changes have happened
// in memory and may be written later, so the client must not rely on either.
void Outbox::answer_as_failed(Session& session) {
  session.output().cut_back(session.send.mark);
  engine_.steps() += session.send.answers;
  for (std::uint32_t i = session.send.answers; i > 0; --i) {
    if (!session.output().add({ReplyCode::internal_error})) end(session, Session::Stopped::quit);
  }
}

// Sending -----------------------------------------------------------------------------------------

Session* Outbox::take_next() {
  if (to_send_.empty()) return nullptr;
  Session& session = to_send_.front();
  to_send_.remove(session);
  return &session;
}

void Outbox::remove(Session& session) {
  if (!session.send.hook.linked()) return;
  (session.is_held_back() ? held_back_ : to_send_).remove(session);
}

}  // namespace haricot
