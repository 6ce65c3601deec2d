// What the service is told about the world it runs in: settings and facts for the reports. The
// service itself never asks the operating system anything.

#pragma once

#include <cstdint>
#include <string>

#include "haricot/base/state_stream.hpp"
#include "haricot/protocol/command.hpp"
#include "haricot/protocol/limits.hpp"

namespace haricot {

// Which beanstalkd the reports look like.
enum class Compat : std::uint8_t {
  v1_13,  // Strings in quotes.
  v1_12,  // Nothing in quotes, as Debian 12's clients expect it.
};

// What an operator has limited; 0 stands for no limit, as in beanstalkd.
struct Limits {
  std::uint32_t connections_max = 0;
  std::uint32_t idle_timeout_s = 0;  // See IdleWatch.
  std::uint64_t job_memory_bytes_max = 0;
  std::uint32_t tries_max = 0;  // Of each job without a tag `try`; at most kTriesMax.
};

// How often a limit was felt.
struct LimitCounts {
  std::uint64_t refused_connections = 0;
  std::uint64_t idle_connections = 0;  // That were closed.

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
  // What clients have. Those of this machine, of whom Service::open() is told, have at least
  // `operators`, unless it is `standard`.
  CommandSet commands = CommandSet::extended;

  std::string haricot_version;  // Empty: `stats` does not tell it.
  std::int64_t pid = 0;
  std::string instance_id;  // 16 hex digits, new at each start.
  std::string hostname;
  std::string os;        // The kernel's version, as uname has it.
  std::string platform;  // The machine, as uname has it.
  // Asked each time a report needs it. Null: no time was used.
  CpuUsage (*cpu_usage)() = nullptr;
  // The address of the peer of a connection, of which Session::owner() is given: printable ASCII
  // without quotes. Asked each time list-clients shows it. Null: none is known.
  std::string (*address_of)(const void* owner) = nullptr;
};

}  // namespace haricot
