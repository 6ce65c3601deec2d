// The answers of all sessions until they may be sent.
//
// An answer that reports a change is held back until the record of the change is safe, and with it
// all answers of its session that come after it. The session runs until the end of the turn, so
// that one sync is enough for everything that a client has sent at once. If the journal cannot
// write the record, the answer becomes INTERNAL_ERROR.
//
//   begin_answers()  answer()  hold_back_if_recorded()     each command
//   release_safe()                                         at the end of a turn
//   take_next()                                            until it returns null

#pragma once

#include <cstddef>
#include <cstdint>

#include "haricot/base/byte_buffer.hpp"
#include "haricot/base/intrusive_list.hpp"
#include "haricot/base/memory.hpp"
#include "haricot/protocol/reply.hpp"
#include "haricot/queue/engine.hpp"
#include "haricot/queue/journal.hpp"
#include "haricot/service/dispatcher.hpp"
#include "haricot/service/run_queue.hpp"
#include "haricot/service/session.hpp"

namespace haricot {

class Outbox {
 public:
  // All outlive this.
  Outbox(Engine& engine, Journal& journal, Dispatcher& dispatcher, MemoryCushion& cushion,
         RunQueue& run_queue, const Turn& turn);
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // Answers --------------------------------------------------------------------------------------

  // Begins the answers of a command: they may have to be held back.
  void begin_answers(Session& session) {
    if (session.is_held_back()) return;
    session.send.mark = session.output().mark();
    session.send.answers = 0;
  }
  // Adds a reply to the output. A reply of code none begins a wait and adds nothing. If memory is
  // short, the session ends, because the client would match each later answer to a wrong command.
  void answer(Session& session, const Reply& reply);
  // Answers the clients that the engine has deliveries for, and wakes their sessions.
  void answer_deliveries() {
    if (!engine_.deliveries().empty()) answer_each_delivery();
  }
  // Ends a session, which is finished as soon as its answers are safe and sent.
  [[gnu::cold, gnu::noinline]] void end(Session& session, Session::Stopped how);

  // Holding back ---------------------------------------------------------------------------------

  // Holds the answers back if the journal has recorded anything since it had `records_before`
  // records, until that is safe.
  void hold_back_if_recorded(Session& session, std::uint64_t records_before) {
    const std::uint64_t records = journal_.records();
    if (records != records_before) hold_back_until(session, records);
  }
  // Holds the answers back until everything that is recorded now is safe.
  void hold_back(Session& session) { hold_back_until(session, journal_.records()); }
  // Releases sessions whose records are safe, in the order of their records, a bounded number in
  // each turn.
  void release_safe() {
    has_safe_ = false;
    if (!held_back_.empty()) release_held_back();
  }
  // Returns true if release_safe() has left sessions whose records are safe.
  bool has_safe() const { return has_safe_; }
  bool is_holding_back() const { return !held_back_.empty(); }

  // Sending --------------------------------------------------------------------------------------

  // Adds a session that has something to send, is finished, or may want input again. Does nothing
  // if its answers are held back: it is added when they are released.
  void push(Session& session) {
    if (!session.send.hook.linked()) to_send_.push_back(session);
  }
  // Removes and returns the next session; null if there is none.
  Session* take_next();
  // Removes bytes that were sent from the output.
  void consume(Session& session, std::size_t bytes) {
    session.output().consume(bytes);
    session.output().release_if_empty(spare_);
  }
  // Removes a session that is about to be closed.
  void remove(Session& session);

 private:
  void add(Session& session, const Reply& reply);
  [[gnu::noinline]] void answer_each_delivery();
  [[gnu::noinline]] void hold_back_until(Session& session, std::uint64_t records);
  void release_held_back();
  void answer_as_failed(Session& session);

  using List = IntrusiveList<Session, &Session::send, &Session::SendNode::hook>;

  Engine& engine_;
  Journal& journal_;
  Dispatcher& dispatcher_;
  MemoryCushion& cushion_;
  RunQueue& run_queue_;
  const Turn& turn_;
  // Memory of an output that was sent, for the next one. Without it, each answer to a single client
  // would allocate and free memory.
  ByteBuffer spare_;
  List to_send_;
  List held_back_;  // In the order of SendNode::until.
  bool has_safe_ = false;
};

}  // namespace haricot
