// Answers to list-tubes and list-tubes-watched that are too long to be written at once.
//
// The tubes that a client watches cannot change while it waits for an answer. So the list of them
// is written while the client reads it, within the limit of the output. The list of all tubes is
// shared by all clients that ask at about the same time (TubeList). Its pages are sent without a
// copy, and their references are added within the limit of the output.
//
// Short lists are written at once, by their command.

#pragma once

#include <cstdint>

#include "haricot/base/serialization.hpp"
#include "haricot/base/turn_limits.hpp"
#include "haricot/protocol/command.hpp"
#include "haricot/queue/engine.hpp"
#include "haricot/service/outbox.hpp"
#include "haricot/service/run_queue.hpp"
#include "haricot/service/session.hpp"

namespace haricot {

class LongLists {
 public:
  // All outlive this.
  LongLists(Engine& engine, RunQueue& run_queue, Outbox& outbox, const Turn& turn);
  LongLists(const LongLists&) = delete;
  LongLists& operator=(const LongLists&) = delete;

  // Returns true if the answer to the command is a list that is long now.
  [[gnu::cold, gnu::noinline]] bool is_long(const Session& session, const Command& command) const;
  // Begins the answer to such a command, and resumes it. Requires: no answer of the session is held
  // back, because a part of an answer cannot be revoked.
  [[gnu::cold, gnu::noinline]] void begin(Session& session, const Command& command,
                                          const Budget& share);
  // Continues the list of the session, which runs, until the output is full or the share is used
  // up. Returns true if the list is complete. Otherwise the session is stopped, and has to continue
  // in a later turn.
  [[gnu::cold, gnu::noinline]] bool resume(Session& session, const Budget& share);
  // Forgets the list of a session that is about to be closed.
  [[gnu::cold, gnu::noinline]] void remove(Session& session);

  // Hand-over ------------------------------------------------------------------------------------

  // Adds all remaining pages, beyond the limit of the output: the next server does not have the
  // pages of an answer that has begun.
  void add_all_pages(Session& session);
  static void write(StateWriter& to, const Session& session);
  // Returns a list that write() has written, for restore() after its client was read. May throw
  // std::bad_alloc.
  static Session::LongList read(StateReader& from);
  // Continues a list of the last server. A list of all tubes begins again, with the current tubes.
  // Returns false if the session cannot have such a list. May throw std::bad_alloc.
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
