// Runs the requests of sessions: cuts the input into lines and bodies, runs the commands, and
// leaves in the input what has to wait.
//
// A session runs until its input has no complete request, its share of the turn is used up, or
// something stops it (Session::Stopped). A command that has to wait has changed nothing; it stays
// at the front of the input and is parsed again.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "haricot/base/memory.hpp"
#include "haricot/base/time.hpp"
#include "haricot/base/turn_limits.hpp"
#include "haricot/protocol/command.hpp"
#include "haricot/queue/engine.hpp"
#include "haricot/queue/journal.hpp"
#include "haricot/service/admission.hpp"
#include "haricot/service/dispatcher.hpp"
#include "haricot/service/long_lists.hpp"
#include "haricot/service/outbox.hpp"
#include "haricot/service/page_limit.hpp"
#include "haricot/service/request_reader.hpp"
#include "haricot/service/run_queue.hpp"
#include "haricot/service/session.hpp"

namespace haricot {

// Function that is called with each command line, for the most verbose log, except lines that are
// too long. Called again if the command had to wait for the journal's disk. `line` has no CR LF.
struct CommandTrace {
  void (*function)(void* context, const Session& session, std::string_view line) = nullptr;
  void* context = nullptr;
};

class RequestRunner {
 public:
  // Everything that runs a request. All outlive this.
  struct Parts {
    Engine& engine;
    Journal& journal;
    Dispatcher& dispatcher;
    MemoryCushion& cushion;
    const Turn& turn;
    TurnShares& shares;
    RunQueue& run_queue;
    PageLimit& page_limit;
    Outbox& outbox;
    LongLists& lists;
  };
  explicit RequestRunner(const Parts& parts) : parts_(parts) {}
  RequestRunner(const RequestRunner&) = delete;
  RequestRunner& operator=(const RequestRunner&) = delete;

  void set_trace(CommandTrace trace) { trace_ = trace; }

  // Runs new input, unless the session has to wait or has older input, and keeps the rest. Ends the
  // session if memory for the rest is short.
  void receive(Session& session, std::string_view bytes, Instant now);
  // Notes bytes that were written to Session::direct_space().
  void receive_directly(Session& session, std::size_t bytes);
  // Note that the peer has closed its writing side, or that everything it has sent was received. A
  // wait of the client ends, because no later command can follow it.
  void half_close(Session& session);
  void end_input(Session& session);
  // Runs the kept input. Requires: the session is in no list of RunQueue. Afterwards it is stopped.
  void run_kept(Session& session, Instant now, const Budget& share);
  // Forgets the put of a session that is about to be closed.
  void remove(Session& session) { parts_.dispatcher.forget_put(session.requests.reader.put()); }

 private:
  std::size_t run(Session& session, std::string_view input, Instant now, const Budget& share);
  bool run_piece(Session& session, const RequestPiece& piece, Instant now, const Budget& share);
  bool run_line(Session& session, std::string_view line, Instant now, const Budget& share);
  bool run_command(Session& session, const Command& command, Instant now);
  bool finish_put(Session& session, std::string_view bytes, Instant now);
  bool refuse_line(Session& session, ParseResult parsed, const Command& command);
  // Cold functions are not inlined, because they would make every command slower.
  [[gnu::cold, gnu::noinline]] bool must_wait(Session& session, const Command& command);
  [[gnu::cold, gnu::noinline]] bool must_wait_for_steps(Session& session, std::uint64_t price);
  [[gnu::cold, gnu::noinline]] void abort_wait(Session& session);
  bool are_many_tubes() const { return parts_.engine.tubes().size() >= WatchIndex::kIndexedFrom; }
  void keep(Session& session, std::string_view rest);

  Parts parts_;
  CommandTrace trace_;
};

}  // namespace haricot
