// How a service goes on in another process, with its sessions, jobs and counters.
//
//   the old one    turns, until is_at_rest()
//                  write()
//   the new one    read_queue()
//                  read_session() for each of sessions(), in the order in which they were written
//                  finish()
//
// What is not written is what a restart is for (options, the process's own facts) and what is made
// anew: heaps, timers, lists of what is to be done next.

#pragma once

#include <cstdint>
#include <vector>

#include "haricot/base/state_stream.hpp"
#include "haricot/queue/state_transfer.hpp"
#include "haricot/service/service.hpp"

namespace haricot {

class ServiceTransfer {
 public:
  explicit ServiceTransfer(Service& service) : service_(service) {}
  ServiceTransfer(const ServiceTransfer&) = delete;
  ServiceTransfer& operator=(const ServiceTransfer&) = delete;

  // No long task is under way, and no answer waits for the journal. If not, turns have to go on.
  bool is_at_rest() const;
  // Sessions come in the order of Service::first_session() and session_after(). Requires:
  // is_at_rest(). May throw std::bad_alloc.
  void write(StateWriter& to, Bodies bodies) const;

  using Read = StateTransfer::Read;
  // Requires: the service has no session, and no job but those that its journal has brought back.
  // May throw std::bad_alloc, with the same end as `broken`.
  [[nodiscard]] Read read_queue(StateReader& from);
  // How many there are to be read.
  std::uint32_t sessions() const { return sessions_; }
  // The next one. `owner` is its owner; null: it has lost its connection, and is closed at once.
  // False: broken.
  [[nodiscard]] bool read_session(StateReader& from, void* owner, bool is_local, Instant now,
                                  Session*& session);
  // After the last. Counts a hand-over for `stats`, if `counts`. False: broken.
  [[nodiscard]] bool finish(StateReader& from, Instant now, bool counts = true);

 private:
  void write_session(StateWriter& to, const Session& session) const;
  bool try_to_read(StateReader& from, Session& session);
  bool read_fields(StateReader& from, Session& session);
  bool check_id(PutPlan& plan);
  static bool forget(Session& session);

  Service& service_;
  std::uint32_t sessions_ = 0;
  Read queue_ = Read::broken;
  std::vector<Client*> clients_;  // Of the sessions that were read; null: it is closed.
  std::vector<JobId> puts_;       // That are under way.
};

}  // namespace haricot
