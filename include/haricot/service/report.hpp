// The texts that stats, stats-job, stats-tube and the lists answer with.
//
// They are YAML of the plainest kind: `---`, then `key: value` or `- value`, one a line. Keys,
// order and quotes are what monitoring tools read, some of them by line number, so they are a table
// in report.cpp.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "haricot/protocol/command.hpp"
#include "haricot/queue/engine.hpp"
#include "haricot/service/server_info.hpp"

namespace haricot {

// How often each verb was seen.
using VerbCounts = std::array<std::uint64_t, kVerbs>;

// Writes one text into a string that is kept from one report to the next.
class Report {
 public:
  Report(std::string& text, Compat compat);

  void integer(std::string_view key, std::uint64_t value);
  void word(std::string_view key, std::string_view value);  // Never quoted.
  void quoted(std::string_view key,
              std::string_view value);  // Quoted unless compat says otherwise.
  void item(std::string_view value);    // A list's. Never quoted.
  void cpu_time(std::string_view key, std::uint64_t microseconds);

 private:
  void key(std::string_view key);

  std::string& text_;
  Compat compat_;
};

// What `stats` tells beside the engine's numbers.
struct ServerState {
  const ServerInfo& info;
  const VerbCounts& verbs;
  JournalNumbers journal;
  LimitCounts limits_felt = {};
  std::uint64_t total_connections;
  std::uint64_t uptime_s;
  bool draining;
};

void write_server_report(Report& report, const Engine& engine, const ServerState& state);
void write_tube_report(Report& report, const Tube& tube, std::uint32_t waiting_clients,
                       Instant now);
void write_job_report(Report& report, const JobReport& job);

}  // namespace haricot
