// The service: a whole beanstalk server, but for the sockets and the clock.
//
// It is driven by turns. In each, in this order:
//
//   advance(now)                       fire what is due
//   receive(session, bytes, now) …     for every connection that has something to read
//   run_backlog(now)                   sessions with commands left from before
//   end_turn(now)                      the journal writes down what happened
//   while (s = next_to_send()) …       send, tell sent(), close what is finished
//
// and again at next_event(), or when there is something to read. Answers are collected in the
// sessions' outputs; what a command brings to other sessions that wait is in theirs when the call
// returns.

#pragma once

#include <cstdint>
#include <string_view>

#include "haricot/base/budget.hpp"
#include "haricot/base/byte_buffer.hpp"
#include "haricot/base/intrusive_list.hpp"
#include "haricot/base/memory_cushion.hpp"
#include "haricot/queue/engine.hpp"
#include "haricot/queue/journal.hpp"
#include "haricot/service/dispatcher.hpp"
#include "haricot/service/page_limit.hpp"
#include "haricot/service/run_queue.hpp"
#include "haricot/service/server_info.hpp"
#include "haricot/service/session.hpp"
#include "haricot/service/turn.hpp"
#include "haricot/service/turn_shares.hpp"

namespace haricot {

// Told of every command line that is not too long, for the most verbose log; again of one that had
// to wait for the journal's disk. `line` is without its CR LF.
struct CommandTrace {
  void (*function)(void* context, const Session& session, std::string_view line) = nullptr;
  void* context = nullptr;
};

class Service {
 public:
  // `info` and `journal` outlive the service. For the key see Engine.
  Service(const ServerInfo& info, Journal& journal, Instant now, const HashKey& key = {});
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  void set_trace(CommandTrace trace) { trace_ = trace; }

  // Whether one more session is below the limit of connections; if not, that is counted.
  [[nodiscard]] bool admit_connection();
  // A new session, or null if there is no memory. `owner` is handed back by Session::owner().
  // `is_local`: its client is known to be on this machine.
  Session* open(void* owner, bool is_local = false);
  // Frees the session; its jobs get ready again.
  void close(Session& session, Instant now);

  // A turn ---------------------------------------------------------------------------------------

  // Also ends sessions that were idle for too long: those come up in next_to_send().
  void advance(Instant now);
  // The same while clients are not read, who could not be in time: nothing that is due happens, and
  // no session ends.
  void advance_tasks(Instant now);
  // Bytes that arrived. May be called whatever wants_input() says; nothing is lost.
  void receive(Session& session, std::string_view bytes, Instant now);
  // As many bytes were written to session.direct_space().
  void receive_directly(Session& session, std::size_t bytes);
  // The peer has closed its writing side, but what it sent before is not all received: it is not
  // made to wait for a job any more.
  void peer_half_closed(Session& session);
  // The peer has closed its writing side, and everything was received.
  void end_of_input(Session& session);
  // Gives every session that has commands left its share; also those whose command had to wait for
  // the journal's disk, if that has moved.
  void run_backlog(Instant now);
  // Has the journal write what was recorded, and releases answers whose records are safe now.
  void end_turn(Instant now);
  // The last end_turn() left answers whose records are safe: a turn sends a bounded number.
  bool has_safe_answers() const { return has_safe_answers_; }
  // Takes out a session that has something to send that may be sent, that is finished, or that may
  // want input again; null if there is none. It comes up again only after something new happened to
  // it; one whose answers are held back when they are let go.
  Session* next_to_send();
  // As many bytes of the session's output were sent.
  void sent(Session& session, std::size_t bytes);
  // When the next turn has to begin even if nothing arrives: Instant{} for at once.
  Instant next_event() const;

  // From now on every put is answered DRAINING.
  void drain() { dispatcher_.drain(); }
  bool is_draining() const { return dispatcher_.is_draining(); }

  bool has_oversized() const { return dispatcher_.has_oversized(); }
  OversizedPuts take_oversized() { return dispatcher_.take_oversized(); }

  // Jobs that were buried because their tries were used up, for the log.
  SpentJobCounts& spent_jobs() { return engine_.spent_jobs(); }

  // All that are open, in no order that means something: null if there is none, or no more.
  Session* first_session() { return sessions_.first(); }
  Session* session_after(const Session& session) { return sessions_.after(session); }

  const Engine& engine() const { return engine_; }
  // For the journal, which brings jobs back before the first session is opened.
  Engine& engine() { return engine_; }

 private:
  friend class ServiceTransfer;
  using Stopped = Session::Stopped;

  void run(Session& session, Instant now, Budget share);
  // Cold functions are not inlined, because they would make every command slower.
  [[gnu::cold, gnu::noinline]] bool put_off(Session& session, const Command& command);
  [[gnu::cold, gnu::noinline]] bool is_long_list(const Session& session,
                                                 const Command& command) const;
  [[gnu::cold, gnu::noinline]] void begin_list(Session& session, const Command& command,
                                               const Budget& share);
  void begin_list_of_watched(Session& session);
  void begin_list_of_tubes(Session::LongList& list);
  void begin_text(Session& session, std::uint64_t bytes);
  void end_text(Session& session);
  [[gnu::cold, gnu::noinline]] bool go_on_with_list(Session& session, const Budget& share);
  void add_watched(Session& session);
  bool add_tubes(Session& session);
  bool begin_pages(Session& session);
  void add_all_pages(Session& session);
  [[gnu::cold, gnu::noinline]] void forget_list(Session& session);
  void stop_waiting_for_tubes();
  bool can_wake_for_memory() const {
    return run_queue_.is_short_of_memory() && page_limit_.free_pages() > 0;
  }
  std::size_t run_some(Session& session, std::string_view input, Instant now, Budget share);
  [[gnu::cold, gnu::noinline]] void abort_wait(Session& session);
  bool run_piece(Session& session, const RequestPiece& piece, Instant now, const Budget& share);
  bool run_line(Session& session, std::string_view line, Instant now, const Budget& share);
  bool refuse_line(Session& session, ParseResult parsed, const Command& command);
  bool finish_put(Session& session, std::string_view bytes, Instant now);
  void answer(Session& session, const Reply& reply);
  void begin_answers(Session& session);
  void hold_back_if_recorded(Session& session, std::uint64_t records_before) {
    const std::uint64_t records = journal_.records();
    if (records != records_before) hold_back_if_not_safe(session, records);
  }
  [[gnu::noinline]] void hold_back_if_not_safe(Session& session, std::uint64_t records);
  void settle_held_back();
  [[gnu::cold, gnu::noinline]] void try_again(Instant now);
  void add_to_output(Session& session, const Reply& reply);
  void answer_as_failed(Session& session);
  [[gnu::cold, gnu::noinline]] void end(Session& session, Stopped how);
  void hand_out_deliveries() {
    if (!engine_.deliveries().empty()) hand_out_each_delivery();
  }
  [[gnu::noinline]] void hand_out_each_delivery();
  void keep_input(Session& session, std::string_view rest);
  void mark_active(Session& session);
  void begin_turn(Instant now);
  void share_out_turn();
  void look_for_idle(Instant now);
  Instant next_idle_look() const;
  void end_idle(Session& session);
  void mark_to_send(Session& session);

  Journal& journal_;
  Engine engine_;
  MemoryCushion cushion_;  // Held while jobs are taken, for workers when there is no memory left.
  Dispatcher dispatcher_;
  // The memory of an output that was sent, for the next one: where one client asks at a time, each
  // answer would allocate and free it.
  ByteBuffer spare_;
  CommandTrace trace_;
  Turn turn_;
  TurnShares shares_;
  RunQueue run_queue_;
  PageLimit page_limit_;
  std::uint32_t waiting_for_tubes_ = 0;  // Sessions that wait for a list of all tubes.
  // With an idle timeout: when idle sessions were looked for last, and in the turn before that; and
  // until when none is ended.
  Instant last_look_;
  Instant look_before_last_;
  Instant no_end_before_;
  const Limits& limits_;
  // With an idle timeout: who was active longest ago is in front.
  IntrusiveList<Session, &Session::idle, &Session::IdleNode::hook> sessions_;
  // Has output, is finished, or may want input again; and whose answers wait for a record.
  using SendList = IntrusiveList<Session, &Session::send, &Session::SendNode::hook>;
  SendList to_send_;
  SendList held_back_;  // In the order of their records.
  bool has_safe_answers_ = false;
};

}  // namespace haricot
