// The service: a whole beanstalk server, except the sockets and the clock.
//
// It is driven by turns. Each turn has these calls, in this order:
//
//   advance(now)                       fires due timers
//   receive(session, bytes, now) …     for each connection with new input
//   run_backlog(now)                   runs sessions with commands left
//   end_turn(now)                      makes the journal write its records
//   while (s = next_to_send()) …       send, call sent(), close what is finished
//
// The next turn begins at next_event(), or when a connection has new input. Answers are collected
// in the outputs of the sessions. If a command ends the waits of other clients, their sessions have
// the answers when the call returns.
//
// This class is a front: the parts (ServiceParts) do the work, each with its own header and tests.

#pragma once

#include <cstddef>
#include <string_view>

#include "haricot/base/sip_hash.hpp"
#include "haricot/base/time.hpp"
#include "haricot/queue/engine.hpp"
#include "haricot/queue/journal.hpp"
#include "haricot/service/dispatcher.hpp"
#include "haricot/service/requests.hpp"
#include "haricot/service/server_info.hpp"
#include "haricot/service/session.hpp"

namespace haricot {

class ServiceSerializer;

class Service {
 public:
  // `info` and `journal` outlive the service. For the key see Engine.
  Service(const ServerInfo& info, Journal& journal, Instant now, const HashKey& key = {});
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  void set_trace(CommandTrace trace) { parts_.trace = trace; }

  // Returns true if the limit allows one more connection. Otherwise counts a refusal.
  [[nodiscard]] bool admit_connection();
  // Returns a new session, or null if memory is short. Session::owner() returns `owner`.
  // `is_local`: the client is known to be on this machine.
  Session* open(void* owner, bool is_local = false);
  // Frees the session. Its jobs become ready again.
  void close(Session& session, Instant now);

  // A turn ---------------------------------------------------------------------------------------

  // Begins a turn: fires due timers, continues long tasks, and ends sessions that were idle for too
  // long; next_to_send() returns them.
  void advance(Instant now);
  // Begins a turn without timers: clients are not being read, so no deadline may fire and no
  // session may end.
  void advance_tasks(Instant now);
  // Runs or keeps new input. May be called even if the session does not want input.
  void receive(Session& session, std::string_view bytes, Instant now);
  // Notes that `bytes` bytes were written to session.direct_space().
  void receive_directly(Session& session, std::size_t bytes);
  // Notes that the peer has closed its writing side, while earlier input is still to be received.
  // From now on the client does not wait for a job.
  void peer_half_closed(Session& session) { requests::half_close(parts_, session); }
  // Notes that the peer has closed its writing side, and all input was received.
  void end_of_input(Session& session) { requests::end_input(parts_, session); }
  // Runs the sessions that have commands left, each for its share. Includes commands that waited
  // for the journal's disk, if the disk has made progress.
  void run_backlog(Instant now);
  // Makes the journal write its records, and releases answers whose records are safe now.
  void end_turn(Instant now);
  // Returns true if the last end_turn() has left answers whose records are safe, because a turn
  // releases a bounded number.
  bool has_safe_answers() const { return parts_.outbox.has_safe(); }
  // Removes and returns a session that may send, is finished, or may want input again; null if
  // there is none. A session is returned again only after a change, or when answers that were held
  // back are released.
  Session* next_to_send() { return parts_.outbox.take_next(); }
  // Removes bytes that were sent from the output of the session.
  void sent(Session& session, std::size_t bytes);
  // Returns when the next turn has to begin if no input arrives; Instant{} means at once.
  Instant next_event() const;

  // Begins drain mode: puts are answered DRAINING.
  void drain() { parts_.dispatcher.drain(); }
  bool is_draining() const { return parts_.dispatcher.is_draining(); }

  // For the log ----------------------------------------------------------------------------------

  bool has_oversized() const { return parts_.dispatcher.has_oversized(); }
  OversizedPuts take_oversized() { return parts_.dispatcher.take_oversized(); }
  // Jobs that were buried because their tries were used up.
  SpentJobCounts& spent_jobs() { return parts_.engine.spent_jobs(); }

  // ----------------------------------------------------------------------------------------------

  // Return the open sessions one after another, in no particular order; null at the end.
  Session* first_session() { return parts_.idle.first(); }
  Session* session_after(const Session& session) { return parts_.idle.after(session); }

  const Engine& engine() const { return parts_.engine; }
  // For the journal, which restores jobs before the first session is opened.
  Engine& engine() { return parts_.engine; }
  // Returns the serializer of the service (service_serializer.hpp).
  ServiceSerializer serializer();

 private:
  void begin_commands();
  [[gnu::cold, gnu::noinline]] void retry_deferred(Instant now);
  bool can_wake_for_memory() const {
    return parts_.run_queue.is_short_of_memory() && parts_.page_limit.free_pages() > 0;
  }

  ServiceParts parts_;
};

}  // namespace haricot
