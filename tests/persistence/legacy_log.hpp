// Writes files of beanstalkd 1.4 to 1.9 (version 5) from their layout. These servers are hard to
// find, but folders of them still exist.

#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace haricot::test {

enum class LegacyState : std::uint8_t { deleted, ready, reserved, buried, delayed };

struct LegacyRecord {
  std::string tube = {};  // Empty: a change to a job of an earlier record.
  std::uint64_t id = 0;
  std::uint32_t priority = 0;
  std::uint64_t delay_seconds = 0;
  std::uint64_t ttr_seconds = 60;
  std::string body = {};                    // Without its CR LF.
  std::int64_t created_at = 0;              // Seconds since 1970.
  std::int64_t deadline_at = 0;             // Seconds since 1970.
  std::array<std::uint32_t, 5> counters{};  // reserves, timeouts, releases, buries, kicks
  LegacyState state = LegacyState::ready;
};

// Returns the first four bytes of such a file.
std::string legacy_version();
std::string legacy_bytes(const LegacyRecord& record);

}  // namespace haricot::test
