// Limits on the resources of clients.

#pragma once

#include <cstddef>
#include <cstdint>

#include "haricot/base/time.hpp"

namespace haricot::web {

struct WebLimits {
  std::uint64_t connections_max = 1000;
  std::uint64_t events_max = 100;  // Active streams of events.
  std::uint64_t head_bytes_max = 8 * 1024;
  std::uint64_t body_bytes_max = 1024 * 1024;
  std::uint64_t held_bytes_max = 64 * 1024 * 1024;  // Bodies and responses of all connections.
  // Time limit from the first byte of a head to its end.
  std::uint64_t head_ms = 10'000;
  std::uint64_t body_ms = 30'000;  // Time limit of a body.
  std::uint64_t idle_ms = 60'000;  // Time limit between requests.
  std::uint64_t send_ms = 30'000;  // Time limit without reading anything of a response.
};

// Time for which a connection is read after its last response, so that the peer receives it.
inline constexpr Duration kLingerTime = Duration::seconds(2);
inline constexpr std::size_t kReadBytesMax = 16 * 1024;  // From one connection in a turn.
// Connections above the limit, for health checks and requests that contain the token. Others get a
// 503.
inline constexpr std::uint64_t kReserve = 64;

}  // namespace haricot::web
