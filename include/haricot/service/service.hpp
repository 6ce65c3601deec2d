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
#include "haricot/service/idle_watch.hpp"
#include "haricot/service/long_lists.hpp"
#include "haricot/service/outbox.hpp"
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
  bool has_safe_answers() const { return outbox_.has_safe(); }
  // Takes out a session that has something to send that may be sent, that is finished, or that may
  // want input again; null if there is none. It comes up again only after something new happened to
  // it; one whose answers are held back when they are let go.
  Session* next_to_send() { return outbox_.take_next(); }
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
  Session* first_session() { return idle_.first(); }
  Session* session_after(const Session& session) { return idle_.after(session); }

  const Engine& engine() const { return engine_; }
  // For the journal, which brings jobs back before the first session is opened.
  Engine& engine() { return engine_; }

 private:
  friend class ServiceTransfer;
  using Stopped = Session::Stopped;

  void run(Session& session, Instant now, Budget share);
  // Cold functions are not inlined, because they would make every command slower.
  [[gnu::cold, gnu::noinline]] bool put_off(Session& session, const Command& command);
  bool can_wake_for_memory() const {
    return run_queue_.is_short_of_memory() && page_limit_.free_pages() > 0;
  }
  std::size_t run_some(Session& session, std::string_view input, Instant now, Budget share);
  [[gnu::cold, gnu::noinline]] void abort_wait(Session& session);
  bool run_piece(Session& session, const RequestPiece& piece, Instant now, const Budget& share);
  bool run_line(Session& session, std::string_view line, Instant now, const Budget& share);
  bool refuse_line(Session& session, ParseResult parsed, const Command& command);
  bool finish_put(Session& session, std::string_view bytes, Instant now);
  [[gnu::cold, gnu::noinline]] void try_again(Instant now);
  void keep_input(Session& session, std::string_view rest);
  void begin_turn(Instant now);
  void share_out_turn();

  Journal& journal_;
  Engine engine_;
  MemoryCushion cushion_;  // Held while jobs are taken, for workers when there is no memory left.
  Dispatcher dispatcher_;
  CommandTrace trace_;
  Turn turn_;
  TurnShares shares_;
  RunQueue run_queue_;
  PageLimit page_limit_;
  Outbox outbox_;
  LongLists lists_;
  IdleWatch idle_;
  const Limits& limits_;
};

}  // namespace haricot
