// Serializes a service with its sessions, jobs and counters.
//
//   predecessor    turns, until is_at_rest()
//                  write()
//   successor      read_queue()
//                  read_session() for each of sessions(), in the order in which they were written
//                  finish()
//
// Settings and facts of the process are not written, because a restart is meant to change them.
// Derived data is not written either: heaps, timers and work lists.

#pragma once

#include <cstdint>
#include <vector>

#include "haricot/base/serialization.hpp"
#include "haricot/queue/engine.hpp"
#include "haricot/queue/engine_serializer.hpp"
#include "haricot/service/requests.hpp"
#include "haricot/service/service.hpp"
#include "haricot/service/session.hpp"

namespace haricot {

class ServiceSerializer {
 public:
  // Both outlive this. Service::serializer() calls this.
  ServiceSerializer(Service& service, ServiceParts& parts) : service_(service), parts_(parts) {}
  ServiceSerializer(const ServiceSerializer&) = delete;
  ServiceSerializer& operator=(const ServiceSerializer&) = delete;

  // Returns true if no long task is in progress and no answer waits for the journal. Otherwise more
  // turns are needed.
  bool is_at_rest() const;
  // Writes everything, sessions in the order of Service::first_session() and session_after().
  // Requires: is_at_rest(). May throw std::bad_alloc.
  void write(StateWriter& to, Bodies bodies) const;

  using Read = EngineSerializer::Read;
  // Reads the jobs, tubes and counters. Requires: the service has no session, and only jobs that
  // its journal has restored. May throw std::bad_alloc, which ends the reading like `broken`.
  [[nodiscard]] Read read_queue(StateReader& from);
  // Number of sessions to read.
  std::uint32_t sessions() const { return sessions_; }
  // Reads the next session and gives it that owner. A null owner means that its connection is lost:
  // the session is closed, and `session` is null. Returns false if the state is broken.
  [[nodiscard]] bool read_session(StateReader& from, void* owner, bool is_local, Instant now,
                                  Session*& session);
  // Ends the reading, after the last session. Counts a hand-over for `stats` if `counts`. Returns
  // false if the state is broken.
  [[nodiscard]] bool finish(StateReader& from, Instant now, bool counts = true);

 private:
  void write_session(StateWriter& to, const Session& session) const;
  bool try_to_read(StateReader& from, Session& session);
  bool read_fields(StateReader& from, Session& session);
  bool check_id(PutPlan& plan);
  static bool refuse(Session& session);

  Service& service_;
  ServiceParts& parts_;
  std::uint32_t sessions_ = 0;
  Read queue_ = Read::broken;
  std::vector<Client*> clients_;  // Clients of the sessions that were read; null: closed.
  std::vector<JobId> puts_;       // Ids of puts whose body is incomplete.
};

}  // namespace haricot
