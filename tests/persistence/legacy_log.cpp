#include "legacy_log.hpp"

namespace haricot::test {
namespace {

constexpr std::uint32_t kVersion = 5;
constexpr std::uint64_t kMicroseconds = 1'000'000;

void append(std::string& to, std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(number >> (8 * i) & 0xff);
}

}  // namespace

std::string legacy_version() {
  std::string bytes;
  append(bytes, kVersion, 4);
  return bytes;
}

std::string legacy_bytes(const LegacyRecord& record) {
  std::string bytes;
  append(bytes, record.tube.size(), 8);
  bytes += record.tube;
  append(bytes, record.id, 8);
  append(bytes, record.priority, 4);
  append(bytes, 0, 4);
  append(bytes, record.delay_seconds * kMicroseconds, 8);
  append(bytes, record.ttr_seconds * kMicroseconds, 8);
  append(bytes, record.body.size() + 2, 4);
  append(bytes, 0, 4);
  append(bytes, static_cast<std::uint64_t>(record.created_at) * kMicroseconds, 8);
  append(bytes, static_cast<std::uint64_t>(record.deadline_at) * kMicroseconds, 8);
  for (const std::uint32_t counter : record.counters) append(bytes, counter, 4);
  append(bytes, static_cast<std::uint64_t>(record.state), 1);
  if (!record.tube.empty()) bytes += record.body + "\r\n";
  return bytes;
}

}  // namespace haricot::test
