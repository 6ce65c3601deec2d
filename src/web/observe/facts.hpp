// What is known of one server: what its row shows, whoever asks.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/time.hpp"
#include "tool/client/sample.hpp"
#include "web/observe/tube_rows.hpp"

namespace haricot::web {

// All tubes of a server, which have been asked for one after another.
struct TubeSample {
  explicit TubeSample(const HashKey& key) : rows(key) {}

  Instant began;
  Instant at;                // When the last tube was there.
  std::string process;       // Of the server: what two samples have in common between restarts.
  bool has_details = false;  // Ages and times: what stats-tube-detail tells.
  std::uint64_t paused = 0;  // So many tubes.
  TubeRows rows;
};

// What has happened to the tubes with a label since they were first seen. It never goes down,
// though tubes go.
struct LabelCounts {
  std::uint64_t puts = 0;
  std::uint64_t deletes = 0;
  std::uint64_t pauses = 0;
};

enum class ServerState : std::uint8_t {
  unknown,  // Nothing has been heard yet.
  up,
  down,
};

struct Facts {
  std::string name;  // Its address.
  ServerState state = ServerState::unknown;
  std::string error;    // Why it is down.
  Instant since;        // It is in this state.
  std::string warning;  // Reason why its tubes are incomplete; empty: they are complete.
  // The words that it has beyond those of beanstalkd.
  std::vector<std::string> capabilities;
  // The last answer to `stats`. Its tubes are not used.
  std::optional<tool::Sample> sample;
  tool::ServerRates rates;
  std::shared_ptr<const TubeSample> tubes;  // Null: not asked for lately.
  std::vector<LabelCounts> labels;          // The first one is that of label 1.

  bool is_haricot() const;
  bool can(std::string_view word) const;
  // Whether the server has reserve-job: haricotd, and beanstalkd since 1.12.
  bool has_reserve_job() const;
  // "haricot 0.1.0" or "beanstalkd 1.12"; empty: not known.
  std::string software() const;
  // Whether the server refuses puts for want of room, or all changes.
  bool is_refusing() const;
};

// The server's process, as far as `stats` tell.
std::string process_of(const tool::StatsText& stats);

}  // namespace haricot::web
