// Data of a server at one moment, or of the sum of several servers, and the history of its tubes.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "haricot/base/time.hpp"
#include "tool/client/sample.hpp"
#include "tool/client/stats_text.hpp"

namespace haricot::tool {

// Numbers of ready jobs of tubes at the last samples, for charts and for detecting a growing
// backlog.
class History {
 public:
  // Bound the memory: 1.6 KiB for each tube, and the number of tubes. A tube is recorded from its
  // first ready job on.
  static constexpr std::size_t kSamplesMax = 400;
  static constexpr std::size_t kTubesMax = 4096;

  // Requires: samples are added in the order of their times.
  void add(const Sample& sample);

  // Returns the numbers from the oldest to the newest; empty if the tube is unknown. Larger numbers
  // appear as 4294967295. Valid until the next add().
  std::span<const std::uint32_t> ready(const std::string& tube) const;
  // Returns true if the backlog grew over the last ten samples (tool/client/tube_stats.hpp).
  bool is_growing(const std::string& tube) const;
  // Returns the time from the oldest of the last `samples` samples to the newest.
  Duration span_of(std::size_t samples) const;

 private:
  struct Track {
    std::vector<std::uint32_t> ready;
    std::uint64_t last_sample = 0;
  };

  void append(const TubeStats& tube);

  std::deque<Instant> times_;
  std::unordered_map<std::string, Track> tracks_;
  std::uint64_t samples_ = 0;
  bool was_full_ = false;  // A tube was left out, so a tube that appears later may have had jobs
                           // before.
};

// Commands of the server that beanstalkd does not have.
struct Abilities {
  bool lists_jobs = false;
  bool lists_clients = false;
  bool flushes = false;
};

// States that every client can see, in the order on screen.
inline constexpr std::array<std::string_view, 3> kSeenStates = {"ready", "delayed", "buried"};

// The next jobs of a tube. Servers that cannot list jobs show only the first one of each state.
struct NextJobs {
  std::string tube;  // Empty if nothing was asked.
  // Jobs of each of kSeenStates in the order of service, with the keys of stats-job and `bytes`.
  std::array<std::vector<StatsText>, kSeenStates.size()> jobs;
  bool is_first_only = false;  // The server showed only the first job of each state.
};

// Connections as the server has listed them.
struct SeenClients {
  bool can_be_listed = true;       // False if the server does not know list-clients.
  std::vector<StatsText> clients;  // In the order of their ids.
};

// Data of a server at one moment, or of the sum of several servers.
struct TopState {
  std::string address;
  // Set for a sum: the number of servers in it. A sum has only data that can be added, and no next
  // jobs.
  std::optional<std::size_t> servers = {};
  Sample sample;  // With rates.
  ServerRates rates;
  History history;
  Abilities abilities;
  NextJobs jobs;                             // For the tube whose screen is shown.
  std::optional<SeenClients> clients = {};   // Empty until asked for, while connections are shown.
  std::optional<std::uint64_t> memory = {};  // Memory of the server's process in bytes, if known.
  std::uint64_t age_s = 0;                   // Age of the sample if it is overdue; otherwise 0.
  std::string trouble;  // Reason why there is no newer sample; empty if there is none.
};

// Adds up the servers without trouble. The trouble of `sum` is that of the others. A rate is
// unknown if one of the servers does not know it. An alarm of one server (drain mode, full disk) is
// an alarm of the sum. Keeps the history of `sum`; its jobs and memory remain unknown.
void add_up(std::span<const TopState> servers, TopState& sum);

}  // namespace haricot::tool
