// Runs the requests of sessions: cuts the input into lines and bodies, runs the commands, and
// leaves in the input what has to wait.
//
// A session runs until its input has no complete request, its share of the turn is used up, or
// something stops it (Session::Stopped). A command that has to wait has changed nothing; it stays
// at the front of the input and is parsed again.

#pragma once

#include <cstddef>
#include <string_view>

#include "haricot/base/memory.hpp"
#include "haricot/base/sip_hash.hpp"
#include "haricot/base/time.hpp"
#include "haricot/base/turn_limits.hpp"
#include "haricot/queue/engine.hpp"
#include "haricot/queue/journal.hpp"
#include "haricot/service/admission.hpp"
#include "haricot/service/dispatcher.hpp"
#include "haricot/service/idle_watch.hpp"
#include "haricot/service/long_lists.hpp"
#include "haricot/service/outbox.hpp"
#include "haricot/service/page_limit.hpp"
#include "haricot/service/run_queue.hpp"
#include "haricot/service/server_info.hpp"
#include "haricot/service/session.hpp"

namespace haricot {

// Function that is called with each command line, for the most verbose log, except lines that are
// too long. Called again if the command had to wait for the journal's disk. `line` has no CR LF.
struct CommandTrace {
  void (*function)(void* context, const Session& session, std::string_view line) = nullptr;
  void* context = nullptr;
};

// The parts of a service. Each refers only to parts above it. The functions below reach all of them
// through one reference, because a pointer to each part would cost every command.
struct ServiceParts {
  // `info` and `journal` outlive the parts. For the key see Engine.
  ServiceParts(const ServerInfo& info, Journal& journal, Instant now, const HashKey& key);
  ServiceParts(const ServiceParts&) = delete;
  ServiceParts& operator=(const ServiceParts&) = delete;

  Journal& journal;
  Engine engine;
  MemoryCushion cushion;  // Reserve for workers when memory is short; puts need it filled.
  Dispatcher dispatcher;
  Turn turn;
  TurnShares shares;
  RunQueue run_queue;
  PageLimit page_limit;
  Outbox outbox;
  LongLists lists;
  IdleWatch idle;
  CommandTrace trace;
};

namespace requests {

// Runs new input, unless the session has to wait or has older input, and keeps the rest. Ends the
// session if memory for the rest is short.
void receive(ServiceParts& parts, Session& session, std::string_view bytes, Instant now);
// Notes bytes that were written to Session::direct_space().
void receive_directly(ServiceParts& parts, Session& session, std::size_t bytes);
// Runs the kept input. Requires: the session is in no list of RunQueue. Afterwards it is stopped.
void run_kept(ServiceParts& parts, Session& session, Instant now, const Budget& share);
// Note that the peer has closed its writing side, or that everything it has sent was received. A
// wait of the client ends, because no later command can follow it.
void half_close(ServiceParts& parts, Session& session);
void end_input(ServiceParts& parts, Session& session);
// Forgets the put of a session that is about to be closed.
void remove(ServiceParts& parts, Session& session);

}  // namespace requests

}  // namespace haricot
