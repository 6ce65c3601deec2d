#include "tool/top/server_sum.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tool/client/sums.hpp"

namespace haricot::tool {
namespace {

// Flags of any server that the operator has to see.
constexpr std::string_view kAlarms[] = {"draining", "binlog-refusing", "memory-full",
                                        "binlog-no-space"};

constexpr std::optional<double> ServerRates::*kRates[] = {
    &ServerRates::commands,   &ServerRates::puts,     &ServerRates::reserves,
    &ServerRates::deletes,    &ServerRates::timeouts, &ServerRates::connections,
    &ServerRates::cpu_percent};

}  // namespace

void add_up(std::span<const TopState> servers, TopState& sum) {
  std::vector<Sample> samples;
  std::vector<StatsText> reports;
  sum.trouble.clear();
  sum.rates = {};
  for (const TopState& server : servers) {
    if (!server.trouble.empty()) {
      if (!sum.trouble.empty()) sum.trouble += "; ";
      sum.trouble += server.trouble;
      continue;
    }
    for (const auto rate : kRates) {
      std::optional<double>& all = sum.rates.*rate;
      const std::optional<double>& one = server.rates.*rate;
      if (samples.empty()) {
        all = one;
      } else {
        all = all && one ? std::optional(*all + *one) : std::nullopt;
      }
    }
    samples.push_back(server.sample);
    reports.push_back(server.sample.server);
  }
  sum.servers = samples.size();
  sum.address =
      "sum of " + std::to_string(samples.size()) + (samples.size() == 1 ? " server" : " servers");
  sum.sample.server = sum_of(reports);
  for (const std::string_view alarm : kAlarms) {
    const bool is_on =
        std::any_of(reports.begin(), reports.end(),
                    [alarm](const StatsText& report) { return report.is_true(alarm); });
    if (is_on) sum.sample.server.add({std::string(alarm), "true"});
  }
  sum.sample.tubes = sum_of_tubes(samples);
  for (const Sample& sample : samples) sum.sample.at = std::max(sum.sample.at, sample.at);
}

}  // namespace haricot::tool
