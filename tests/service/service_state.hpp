// Writes the state of a service with its sessions, and restores it in another service.

#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "haricot/service/service_serializer.hpp"
#include "service/service_world.hpp"
#include "support/engine_state.hpp"

namespace haricot::test {

inline std::string service_state(Service& service) {
  std::string state;
  StateWriter writer(sink_to(state));
  service.serializer().write(writer, Bodies::in_state);
  EXPECT_TRUE(writer.end());
  return state;
}

// Restores the state. Returns all sessions in order, with these owners; a session whose owner is
// null has lost its connection and is null. Returns nothing if the state is rejected.
inline std::vector<Session*> restore_service(const std::string& state, ServiceWorld& next,
                                             const std::vector<void*>& owners) {
  StateReader reader(state);
  ServiceSerializer serializer = next.service.serializer();
  if (serializer.read_queue(reader) != ServiceSerializer::Read::good) return {};
  std::vector<Session*> sessions;
  for (void* const owner : owners) {
    sessions.emplace_back();
    if (!serializer.read_session(reader, owner, false, next.now, sessions.back())) return {};
  }
  const bool has_all =
      serializer.sessions() == owners.size() && serializer.finish(reader, next.now);
  if (!has_all) return {};
  next.service.engine().check_invariants();
  return sessions;
}

// Hands the service over to `next`, with these owners of its sessions.
inline std::vector<Session*> hand_over(ServiceWorld& before, ServiceWorld& next,
                                       const std::vector<void*>& owners) {
  while (!before.service.serializer().is_at_rest()) before.settle();
  next.now = before.now;
  std::vector<Session*> sessions = restore_service(service_state(before.service), next, owners);
  EXPECT_FALSE(sessions.empty());
  return sessions;
}

}  // namespace haricot::test
