// The texts that stats, stats-job, stats-tube and the lists answer with.
//
// They are YAML of the plainest kind: `---`, then `key: value` or `- value`, one a line. Which
// keys there are, and what they mean, is in statistics.hpp.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "haricot/queue/engine.hpp"
#include "haricot/service/server_info.hpp"
#include "haricot/service/statistics.hpp"

namespace haricot {

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

  // A list under a key, and nothing after it. Each item is some keys: the next one after
  // begin_item() begins a new one.
  void begin_list(std::string_view key, bool is_empty);
  void begin_item() { prefix_ = "- "; }

 private:
  void key(std::string_view key);

  std::string& text_;
  Compat compat_;
  std::string_view prefix_ = {};  // Of the next key.
};

void write_server_report(Report& report, const Engine& engine, const ServerState& state);
void write_tube_report(Report& report, const Tube& tube, std::uint32_t waiting_clients,
                       Instant now);
void write_tube_detail(Report& report, const TubeDetail& detail);
void write_group_report(Report& report, const Group& group);
void write_job_report(Report& report, const JobReport& job);
// As an item of a list.
void write_listed_job(Report& report, const JobReport& job);
void write_listed_client(Report& report, const ClientFacts& client);

}  // namespace haricot
