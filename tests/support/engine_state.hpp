// The state of an engine with its clients as bytes, and an engine that continues with it.

#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/serialization.hpp"
#include "haricot/queue/engine.hpp"
#include "haricot/queue/engine_serializer.hpp"
#include "support/engine_world.hpp"

namespace haricot::test {

inline StateWriter::Sink sink_to(std::string& bytes) {
  return {[](void* to, std::string_view more) {
            static_cast<std::string*>(to)->append(more);
            return true;
          },
          &bytes};
}

inline std::string engine_state(Engine& engine, const std::vector<const Client*>& clients) {
  std::string state;
  StateWriter writer(sink_to(state));
  engine.serializer().write(writer, Bodies::in_state);
  for (const Client* const client : clients) engine.serializer().write_client(writer, *client);
  engine.serializer().write_waits(writer, clients);
  EXPECT_TRUE(writer.end());
  return state;
}

// Continues with a state in `next`, and checks that writing it again gives the same bytes. Returns
// the clients in their order.
inline std::vector<Client*> restore_engine(const std::string& state, World& next,
                                           std::size_t clients) {
  StateReader reader(state);
  EXPECT_TRUE(reader.is_whole());
  EXPECT_EQ(next.engine.serializer().read(reader, Bodies::in_state), EngineSerializer::Read::good);
  std::vector<Client*> after;
  for (std::size_t i = 0; i < clients; ++i) {
    after.push_back(&next.connect());
    EXPECT_TRUE(next.engine.serializer().read_client(reader, *after.back()));
  }
  EXPECT_TRUE(next.engine.serializer().read_waits(reader, after));
  EXPECT_TRUE(reader.is_at_end());
  next.engine.check_invariants();
  return after;
}

}  // namespace haricot::test
