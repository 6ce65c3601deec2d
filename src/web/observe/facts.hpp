// Facts about one server, for all routes.

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

// A sample of all tubes of a server, which takes several requests.
struct TubeSample {
  explicit TubeSample(const HashKey& key) : rows(key) {}

  Instant began;
  Instant at;                // Arrival of the last tube.
  std::string process;       // Identity of the server's process. It differs between samples if the
                             // server was restarted.
  bool has_details = false;  // Ages and times from stats-tube-detail are included.
  std::uint64_t paused = 0;  // Number of paused tubes.
  TubeRows rows;
};

// Counters of the tubes with a label, since these were first seen. They never decrease, even when
// tubes vanish.
struct LabelCounts {
  std::uint64_t puts = 0;
  std::uint64_t deletes = 0;
  std::uint64_t pauses = 0;
};

enum class ServerState : std::uint8_t {
  unknown,  // No answer or failure yet.
  up,
  down,
};

struct Facts {
  std::string name;  // The server's address.
  ServerState state = ServerState::unknown;
  std::string error;    // Reason for the state `down`.
  Instant since;        // Beginning of the state.
  std::string warning;  // Reason why its tubes are incomplete; empty if they are complete.
  // Its extended commands and features.
  std::vector<std::string> capabilities;
  // The last answer to `stats`. The member `tubes` is not used.
  std::optional<tool::Sample> sample;
  tool::ServerRates rates;
  std::shared_ptr<const TubeSample> tubes;  // Null if not sampled lately.
  std::vector<LabelCounts> labels;          // The first one belongs to label 1.

  bool is_haricot() const;
  bool can(std::string_view word) const;
  // Returns true if the server has reserve-job: haricotd, or beanstalkd from 1.12 on.
  bool has_reserve_job() const;
  // Returns "haricot 0.1.0" or "beanstalkd 1.12"; empty if unknown.
  std::string software() const;
  // Returns true if the server refuses puts for lack of space or memory, or all changes.
  bool is_refusing() const;
};

// Returns the identity of the server's process from `stats`.
std::string process_of(const tool::StatsText& stats);

}  // namespace haricot::web
