// Files as beanstalkd 1.4 to 1.9 wrote them (version 5), made byte by byte from their layout: there
// is no such server around any more, but there are its folders.

#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace haricot::test {

enum class LegacyState : std::uint8_t { deleted, ready, reserved, buried, delayed };

struct LegacyRecord {
  std::string tube = {};  // Empty: a change to a job that a record above introduced.
  std::uint64_t id = 0;
  std::uint32_t priority = 0;
  std::uint64_t delay_seconds = 0;
  std::uint64_t ttr_seconds = 60;
  std::string body = {};                    // Without its CR LF.
  std::int64_t created_at = 0;              // Seconds since 1970.
  std::int64_t deadline_at = 0;             // The same.
  std::array<std::uint32_t, 5> counters{};  // reserves, timeouts, releases, buries, kicks
  LegacyState state = LegacyState::ready;
};

// The four bytes that such a file begins with.
std::string legacy_version();
std::string legacy_bytes(const LegacyRecord& record);

}  // namespace haricot::test
