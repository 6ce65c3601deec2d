// Statistics of a server and its tubes at one moment, rates between two moments, and sums of
// several servers.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/time.hpp"
#include "tool/client/remote.hpp"
#include "tool/client/stats_text.hpp"
#include "tool/client/tube_stats.hpp"

namespace haricot::tool {

struct Sample {
  Instant at;  // Arrival of the last answer.
  StatsText server;
  std::vector<TubeStats> tubes;
};

// Rates per second; empty if unknown.
struct ServerRates {
  std::optional<double> commands;
  std::optional<double> puts;
  std::optional<double> reserves;
  std::optional<double> deletes;
  std::optional<double> timeouts;
  std::optional<double> connections;
  std::optional<double> cpu_percent;  // Percent of one core.
};

// Returns true if the name matches one of the shell patterns, or if there are no patterns.
bool is_wanted(const std::string& name, const std::vector<std::string>& patterns);

// The requests of a sample, for a caller that does not wait for the answers. Until the round is
// over: send commands(), pass each of their answers() to take(), then call proceed().
class SampleRound final {
 public:
  // Leaves out tubes that is_wanted() rejects. The patterns must outlive the object.
  explicit SampleRound(const std::vector<std::string>& patterns) : patterns_(patterns) {}

  bool is_over() const { return step_ == kNames.size(); }
  // Returns the name of the commands in messages.
  std::string_view name() const { return kNames[step_]; }
  const std::string& commands() const { return commands_; }
  // Returns the number of the commands.
  std::uint64_t answers() const { return wanted_.empty() ? 1 : wanted_.size(); }
  void take(const Answer& answer);
  // Returns false if the server failed; server.failure() has the reason.
  [[nodiscard]] bool proceed(Remote& server);
  // Requires: is_over().
  Sample& sample() { return sample_; }

 private:
  static constexpr std::array<std::string_view, 3> kNames = {"stats", "list-tubes", "stats-tube"};

  bool choose_tubes();

  const std::vector<std::string>& patterns_;
  std::size_t step_ = 0;  // Index in kNames.
  std::string commands_ = "stats\r\n";
  Response answer_;                  // The last one, or the first unexpected one.
  std::vector<std::string> wanted_;  // Names of tubes.
  std::size_t taken_ = 0;            // Number of answers about tubes.
  Sample sample_;
};

// Asks the server for its statistics and those of the tubes that is_wanted() accepts. Returns false
// if the server failed; server.failure() has the reason.
[[nodiscard]] bool take_sample(Remote& server, const std::vector<std::string>& patterns,
                               Sample& sample);

// Adds the times of the tubes if the server has stats-tube-detail. Returns false if the server
// failed; server.failure() has the reason.
[[nodiscard]] bool take_times(Remote& server, Sample& sample);

// Calculate rates of the server and of the tubes in `now`; empty if the server was restarted in
// between. The counters of a tube that is new begin at 0.
ServerRates rates_between(const Sample& before, const Sample& now);
void set_tube_rates(const Sample& before, Sample& now);

// Returns true if values of this key can be added: numbers of jobs, commands or connections.
bool is_summable(std::string_view key);

// Adds up the summable keys, in the order of their first occurrence. A key that some servers lack
// is the sum over the others.
StatsText sum_of(std::span<const StatsText> servers);

// Returns each tube that at least one server has. A rate is known if it is known at all servers
// that have the tube. Pause and times are the longest ones.
std::vector<TubeStats> sum_of_tubes(std::span<const Sample> servers);

}  // namespace haricot::tool
