// Settings of the service, and facts for its reports. The service itself never asks the operating
// system.

#pragma once

#include <cstdint>
#include <string>

#include "haricot/base/serialization.hpp"
#include "haricot/protocol/command.hpp"

namespace haricot {

// Version of beanstalkd whose reports the server imitates.
enum class Compat : std::uint8_t {
  v1_13,  // Strings in quotes.
  v1_12,  // No quotes, for clients of Debian 12.
};

// Limits that the operator has set; 0: no limit, as in beanstalkd.
struct Limits {
  std::uint32_t connections_max = 0;
  std::uint32_t idle_timeout_s = 0;  // See IdleWatch.
  std::uint64_t job_memory_bytes_max = 0;
  std::uint32_t tries_max = 0;  // For each job without a tag `try`; at most kTriesMax.
};

// Number of times that a limit was enforced.
struct LimitCounts {
  std::uint64_t refused_connections = 0;
  std::uint64_t idle_connections = 0;  // Connections that the idle timeout has closed.

  using Fields = FieldList<&LimitCounts::refused_connections, &LimitCounts::idle_connections>;
};
static_assert(sizeof(LimitCounts) == 16, "a new field belongs into the list");

struct CpuUsage {
  std::uint64_t user_us = 0;
  std::uint64_t system_us = 0;
};

struct ServerInfo {
  std::uint32_t job_bytes_max = kJobBytesMaxDefault;
  std::uint64_t binlog_bytes_max = 10485760;
  Compat compat = Compat::v1_13;
  Limits limits;
  // Commands that clients have. Clients of this machine (Service::open) have at least `operators`,
  // unless this is `standard`.
  CommandSet commands = CommandSet::extended;

  std::string haricot_version;  // Empty: not in `stats`.
  std::int64_t pid = 0;
  std::string instance_id;  // 16 hex digits, new at each start.
  std::string hostname;
  std::string os;        // Version of the kernel, from uname.
  std::string platform;  // Machine, from uname.
  // Returns the CPU time of the process. Null: reported as 0.
  CpuUsage (*cpu_usage)() = nullptr;
  // Returns the address of the peer of a Session::owner(), in printable ASCII without quotes. Null:
  // list-clients shows no address.
  std::string (*address_of)(const void* owner) = nullptr;
};

}  // namespace haricot
