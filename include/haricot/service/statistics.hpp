// The statistics as rows. Each key of stats, stats-tube and stats-job has one row, with its type,
// value and meaning.
//
// The rows are in the order of the reports, because monitoring tools read reports by line number.
// The reports are written from the rows (report.hpp). Tests compare docs/statistics.md and other
// lists of keys with the rows.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "haricot/protocol/command.hpp"
#include "haricot/queue/engine.hpp"
#include "haricot/service/server_info.hpp"

namespace haricot {

// Number of commands of each verb.
using VerbCounts = std::array<std::uint64_t, kVerbs>;

// Values of `stats` besides those of the engine.
struct ServerState {
  const ServerInfo& info;
  const VerbCounts& verbs;
  JournalNumbers journal;
  LimitCounts limits_felt = {};
  std::uint64_t hand_overs = 0;
  std::uint64_t total_connections;
  std::uint64_t uptime_s;
  std::uint64_t sync_lag_ms;  // JournalNumbers::sync_lag_ms() now.
  bool draining;
};

// Sources of the values in the rows of each report.
struct ServerFacts {
  const Engine& engine;
  const ServerState& state;
  CpuUsage cpu = {};

  const EngineCounts& counts() const { return engine.counts(); }
  const Limits& limits() const { return state.info.limits; }
};

struct TubeFacts {
  const Tube& tube;
  std::uint32_t waiting_clients;
  Instant now;
};

using TubeDetailFacts = TubeDetail;
using GroupFacts = Group;
using JobFacts = JobReport;

// A connection, in an answer to list-clients.
struct ClientFacts {
  const Client& client;
  std::string_view address;
  std::string_view state;
  std::uint64_t age_s = 0;
  std::uint64_t idle_s = 0;
  std::uint64_t commands = 0;
};

// Notation of a value.
enum class StatisticType : std::uint8_t {
  integer,
  word,      // Never quoted.
  value,     // In quotes unless it is a number, because 5:30 is a number in YAML 1.1.
  quoted,    // Quoted unless compat says otherwise.
  text,      // Any bytes: the first line, shortened, quoted and escaped.
  cpu_time,  // Seconds with six digits after the dot, from a number of microseconds.
};

template <typename Facts>
struct Statistic {
  using Number = std::uint64_t (*)(const Facts&);
  using Word = std::string_view (*)(const Facts&);  // Valid while the facts exist.
  using Condition = bool (*)(const Facts&);

  std::string_view key;
  StatisticType type = StatisticType::integer;
  Number number = nullptr;  // For integer and cpu_time.
  Word word = nullptr;      // For the other types.
  // Returns true if the key is shown; null: always, as in beanstalkd.
  Condition is_shown = nullptr;
  // Text in docs/statistics.md; empty: that of the previous row.
  std::string_view meaning = {};
};

std::span<const Statistic<ServerFacts>> server_statistics();
std::span<const Statistic<TubeFacts>> tube_statistics();
std::span<const Statistic<TubeDetailFacts>> tube_detail_statistics();
std::span<const Statistic<GroupFacts>> group_statistics();
std::span<const Statistic<JobFacts>> job_statistics();
// Rows of a job in an answer to scan-jobs or list-jobs.
std::span<const Statistic<JobFacts>> listed_job_statistics();
// Rows of a connection in an answer to list-clients.
std::span<const Statistic<ClientFacts>> client_statistics();

// Building of the tables --------------------------------------------------------------------------

// Functions that make a row of a key, a meaning, a condition unless the key is always shown, and
// the value, a lambda without a capture.
template <typename Facts>
struct Rows {
  using Row = Statistic<Facts>;
  using Text = std::string_view;
  using Condition = typename Row::Condition;

  template <typename Value>
  static constexpr Row integer(Text key, Text meaning, Condition is_shown, Value) {
    return {key, StatisticType::integer, &number_of<Value>, nullptr, is_shown, meaning};
  }
  template <typename Value>
  static constexpr Row integer(Text key, Text meaning, Value value) {
    return integer(key, meaning, nullptr, value);
  }
  template <typename Value>
  static constexpr Row cpu_time(Text key, Text meaning, Value) {
    return {key, StatisticType::cpu_time, &number_of<Value>, nullptr, nullptr, meaning};
  }
  template <typename Value>
  static constexpr Row word(Text key, Text meaning, Condition is_shown, Value) {
    return {key, StatisticType::word, nullptr, &word_of<Value>, is_shown, meaning};
  }
  template <typename Value>
  static constexpr Row word(Text key, Text meaning, Value value) {
    return word(key, meaning, nullptr, value);
  }
  template <typename Value>
  static constexpr Row value(Text key, Text meaning, Condition is_shown, Value) {
    return {key, StatisticType::value, nullptr, &word_of<Value>, is_shown, meaning};
  }
  template <typename Value>
  static constexpr Row text(Text key, Text meaning, Condition is_shown, Value) {
    return {key, StatisticType::text, nullptr, &word_of<Value>, is_shown, meaning};
  }
  template <typename Value>
  static constexpr Row quoted(Text key, Text meaning, Condition is_shown, Value) {
    return {key, StatisticType::quoted, nullptr, &word_of<Value>, is_shown, meaning};
  }
  template <typename Value>
  static constexpr Row quoted(Text key, Text meaning, Value value) {
    return quoted(key, meaning, nullptr, value);
  }

 private:
  template <typename Value>
  static std::uint64_t number_of(const Facts& facts) {
    return static_cast<std::uint64_t>(Value{}(facts));
  }
  template <typename Value>
  static std::string_view word_of(const Facts& facts) {
    return Value{}(facts);
  }
};

// Meaning of a row that shares the text of the previous row.
inline constexpr std::string_view kSame{};

// Returns several tables as one.
template <typename Row, std::size_t... kSizes>
constexpr auto joined(const std::array<Row, kSizes>&... parts) {
  std::array<Row, (kSizes + ...)> all{};
  std::size_t size = 0;
  const auto add = [&](const auto& part) {
    for (const Row& row : part) all[size++] = row;
  };
  (add(parts), ...);
  return all;
}

// Returns true if the keys of the rows are unique.
template <typename Row, std::size_t kSize>
constexpr bool has_each_key_once(const std::array<Row, kSize>& rows) {
  for (std::size_t i = 0; i < kSize; ++i) {
    for (std::size_t other = 0; other < i; ++other) {
      if (rows[i].key == rows[other].key) return false;
    }
  }
  return true;
}

}  // namespace haricot
