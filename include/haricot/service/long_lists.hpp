// Answers to list-tubes and list-tubes-watched that are too long to be written at once.
//
// The tubes that a client watches cannot change while it waits for an answer. So the list of them
// is written as the client reads it, and the output never has more of it than of other answers. The
// list of all tubes is shared by all clients that ask at about the same time (TubeList). Its pages
// are sent from where they are, and an output has no more of them than of other answers.
//
// Short lists are written at once, by their command.

#pragma once

#include <cstdint>

#include "haricot/base/budget.hpp"
#include "haricot/base/state_stream.hpp"
#include "haricot/protocol/command.hpp"
#include "haricot/queue/engine.hpp"
#include "haricot/service/outbox.hpp"
#include "haricot/service/run_queue.hpp"
#include "haricot/service/session.hpp"
#include "haricot/service/turn.hpp"

namespace haricot {

class LongLists {
 public:
  // All outlive this.
  LongLists(Engine& engine, RunQueue& run_queue, Outbox& outbox, const Turn& turn);
  LongLists(const LongLists&) = delete;
  LongLists& operator=(const LongLists&) = delete;

  // Returns true if the command is answered by a list that is long now.
  [[gnu::cold, gnu::noinline]] bool is_long(const Session& session, const Command& command) const;
  // Begins the answer to such a command, and continues it as resume() does. Requires: no answer of
  // the session is held back, because half an answer cannot be taken back.
  [[gnu::cold, gnu::noinline]] void begin(Session& session, const Command& command,
                                          const Budget& share);
  // Continues the list of the session, which runs, until the output is full or the share is used
  // up. Returns true if the list is complete. Otherwise the session is stopped, and has to continue
  // in a later turn.
  [[gnu::cold, gnu::noinline]] bool resume(Session& session, const Budget& share);
  // Forgets the list of a session that is about to be closed.
  [[gnu::cold, gnu::noinline]] void remove(Session& session);

  // For a restart --------------------------------------------------------------------------------

  // Adds all pages that are left, however full the output gets: the next server does not have the
  // pages that an answer has begun with.
  void add_all_pages(Session& session);
  static void write(StateWriter& to, const Session& session);
  // Reads what write() has written, to be given to restore() when the client is read. May throw
  // std::bad_alloc.
  static Session::LongList read(StateReader& from);
  // Continues a list of the last server. A list of all tubes begins again, with the tubes that
  // there are now. Returns false if the session cannot have such a list. May throw std::bad_alloc.
  [[nodiscard]] bool restore(Session& session, const Session::LongList& list);

 private:
  void begin_watched(Session& session);
  void begin_tubes(Session& session);
  void begin_text(Session& session, std::uint64_t bytes);
  void end_text(Session& session);
  void add_watched(Session& session);
  bool add_page(Session& session);
  bool begin_pages(Session& session);
  void end_wait_for_pages();

  Engine& engine_;
  RunQueue& run_queue_;
  Outbox& outbox_;
  const Turn& turn_;
  std::uint32_t waiting_ = 0;  // Sessions that wait for the pages of a list of all tubes.
};

}  // namespace haricot
