// The texts of the answers to stats, stats-job, stats-tube and the lists.
//
// They are plain YAML: `---`, then `key: value` or `- value`, one a line. statistics.hpp has the
// keys and their meanings.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "haricot/queue/engine.hpp"
#include "haricot/service/server_info.hpp"
#include "haricot/service/statistics.hpp"

namespace haricot {

// Writes one text.
class Report {
 public:
  // `text` is overwritten, and outlives this. Its memory can be used for one report after another.
  Report(std::string& text, Compat compat);

  void integer(std::string_view key, std::uint64_t value);
  // Writes a value without quotes.
  void word(std::string_view key, std::string_view value);
  // Writes digits without quotes, and any other value in quotes: some texts of digits and other
  // bytes are numbers in YAML.
  void value(std::string_view key, std::string_view value);
  // Writes a value in quotes, unless `compat` has none.
  void quoted(std::string_view key, std::string_view value);
  // Writes the first line of any bytes, at most 160 of them, as a string of JSON.
  void text(std::string_view key, std::string_view value);
  // Writes an item of a list, without quotes.
  void item(std::string_view value);
  void cpu_time(std::string_view key, std::uint64_t microseconds);

  // Begins a list under a key; nothing can follow it. Each of its items has keys: the first key
  // after begin_item() begins a new item.
  void begin_list(std::string_view key, bool is_empty);
  void begin_item() { prefix_ = "- "; }

 private:
  void key(std::string_view key);

  std::string& text_;
  Compat compat_;
  std::string_view prefix_ = {};  // Bytes that precede the next key.
};

void write_server_report(Report& report, const Engine& engine, const ServerState& state);
void write_tube_report(Report& report, const Tube& tube, std::uint32_t waiting_clients,
                       Instant now);
void write_tube_detail(Report& report, const TubeDetail& detail);
void write_group_report(Report& report, const Group& group);
void write_job_report(Report& report, const JobReport& job);
// Write an item of a list.
void write_listed_job(Report& report, const JobReport& job);
void write_listed_client(Report& report, const ClientFacts& client);

}  // namespace haricot
