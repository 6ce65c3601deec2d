#include "tool/top/top_state.hpp"

#include <algorithm>
#include <limits>

#include "tool/client/tube_stats.hpp"

namespace haricot::tool {

void History::add(const Sample& sample) {
  if (times_.size() == kSamplesMax) times_.pop_front();
  times_.push_back(sample.at);
  ++samples_;
  for (const TubeStats& tube : sample.tubes) append(tube);
  std::erase_if(tracks_, [this](const auto& each) { return each.second.last_sample != samples_; });
}

void History::append(const TubeStats& tube) {
  auto found = tracks_.find(tube.name);
  if (found == tracks_.end()) {
    if (tube.ready == 0) return;
    if (tracks_.size() == kTubesMax) {
      was_full_ = true;
      return;
    }
    found = tracks_.emplace(tube.name, Track{}).first;
    if (!was_full_) found->second.ready.assign(times_.size() - 1, 0);
  }
  Track& track = found->second;
  if (track.ready.size() == kSamplesMax) track.ready.erase(track.ready.begin());
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint32_t>::max();
  track.ready.push_back(static_cast<std::uint32_t>(std::min(tube.ready, kMax)));
  track.last_sample = samples_;
}

std::span<const std::uint32_t> History::ready(const std::string& tube) const {
  const auto found = tracks_.find(tube);
  if (found == tracks_.end()) return {};
  return found->second.ready;
}

bool History::is_growing(const std::string& tube) const {
  constexpr std::size_t kSamples = 10;
  const std::span<const std::uint32_t> all = ready(tube);
  return tool::is_growing(all.last(std::min(all.size(), kSamples)));
}

Duration History::span_of(std::size_t samples) const {
  if (samples < 2 || times_.empty()) return {};
  const std::size_t first = times_.size() - std::min(samples, times_.size());
  return times_.back() - times_[first];
}

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
