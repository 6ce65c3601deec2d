// Bytes that encode a sequence of actions of a few clients of a server.
//
//   u8       options: bit 0 a binlog, bits 1 and 2 its policy for syncs, bit 3 slow syncs, bit 4
//            small bodies only, bit 5 the reports of 1.12, bit 6 no commands but beanstalkd's
//   action…  u8: bits 0 and 1 the client (the last two are on the server's machine), bits 2 to 4
//            the action, and after it
//              0 to 2   sends: u8 a length, the bytes
//              3        sends the last bytes again, u8 times
//              4        u8: a length of time, by kTimeSteps; 255: drain mode
//              5        closes its writing side
//              6        disappears
//              7        stops reading, or resumes it
//
// All bytes encode something; the part of a truncated action that exists counts.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/time.hpp"

namespace haricot::fuzz {

inline constexpr std::size_t kClients = 4;
inline constexpr std::size_t kFirstLocalClient = 2;
inline constexpr std::size_t kSentBytesMax = 255;

struct Action {
  enum class Kind : std::uint8_t { send, repeat, pass, half_close, vanish, read_or_not };
  Kind kind = Kind::send;
  std::uint8_t client = 0;
  std::string bytes = {};   // send
  std::uint8_t amount = 0;  // repeat: times; pass: index of the step
};

struct SessionInput {
  std::uint8_t options = 0;
  std::vector<Action> actions;

  bool keeps_binlog() const { return (options & 1) != 0; }
  unsigned sync_policy() const { return (options >> 1) & 3; }
  bool syncs_are_slow() const { return (options & 8) != 0; }
  bool has_small_bodies() const { return (options & 16) != 0; }
  bool is_like_1_12() const { return (options & 32) != 0; }
  bool has_no_extensions() const { return (options & 64) != 0; }
};

inline constexpr std::uint8_t kDrain = 255;
inline constexpr std::array<Duration, 8> kTimeSteps = {
    Duration::nanoseconds(0),   Duration::milliseconds(1),
    Duration::milliseconds(50), Duration::seconds(1),
    Duration::seconds(2),       Duration::milliseconds(10'500),
    Duration::seconds(100'000), Duration::seconds(4'294'967'295)};

SessionInput session_input_from(std::string_view bytes);
std::string bytes_of(const SessionInput& input);

}  // namespace haricot::fuzz
