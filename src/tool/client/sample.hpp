// What a server says of itself and its tubes at one moment, and how fast it is between two.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "haricot/base/time.hpp"
#include "tool/client/remote.hpp"
#include "tool/client/stats_text.hpp"
#include "tool/client/tube_stats.hpp"

namespace haricot::tool {

struct Sample {
  Instant at;  // When the last answer was there.
  StatsText server;
  std::vector<TubeStats> tubes;
};

// A second's worth. Nothing: not known.
struct ServerRates {
  std::optional<double> commands;
  std::optional<double> puts;
  std::optional<double> reserves;
  std::optional<double> deletes;
  std::optional<double> timeouts;
  std::optional<double> connections;
  std::optional<double> cpu_percent;  // Of one core.
};

// Whether the name matches one of the shell patterns, or there is none.
bool is_wanted(const std::string& name, const std::vector<std::string>& patterns);

// Asks the server. Tubes whose name matches none of the shell patterns are left out; without
// patterns none is. False: server.failure() says why.
[[nodiscard]] bool take_sample(Remote& server, const std::vector<std::string>& patterns,
                               Sample& sample);

// Adds the times of the tubes, if the server tells them (stats-tube-detail). False:
// server.failure() says why.
[[nodiscard]] bool take_times(Remote& server, Sample& sample);

// Both are nothing where the server is not the same process any more. A tube that was not there
// before began with nothing.
ServerRates rates_between(const Sample& before, const Sample& now);
void set_tube_rates(const Sample& before, Sample& now);

}  // namespace haricot::tool
