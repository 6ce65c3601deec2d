#include "tool/client/sums.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace haricot::tool {
namespace {

std::optional<double> sum_of_rates(const std::vector<const TubeStats*>& parts,
                                   std::optional<double> TubeStats::*rate) {
  double sum = 0;
  for (const TubeStats* part : parts) {
    if (!(part->*rate)) return std::nullopt;
    sum += *(part->*rate);
  }
  return sum;
}

// Returns the report of a tube with the jobs of all parts.
std::string report_of(const std::string& name, const std::vector<const TubeStats*>& parts) {
  std::vector<StatsText> reports;
  std::uint64_t pause = 0;
  std::uint64_t left = 0;
  for (const TubeStats* part : parts) {
    std::optional<StatsText> report = StatsText::parse(part->report);
    if (!report) continue;
    pause = std::max(pause, report->number("pause").value_or(0));
    left = std::max(left, report->number("pause-time-left").value_or(0));
    reports.push_back(std::move(*report));
  }
  std::string text = "---\nname: \"" + name + "\"\n";
  const StatsText sum = sum_of(reports);
  for (const StatsText::Line& line : sum.lines()) {
    text += line.key + ": " + line.value + "\n";
  }
  return text + "pause: " + std::to_string(pause) + "\npause-time-left: " + std::to_string(left) +
         "\n";
}

// Takes the maximum of each time, because percentiles cannot be added.
std::optional<TubeTimes> slowest_of(const std::vector<const TubeStats*>& parts) {
  constexpr std::uint64_t TubeTimes::*kTimes[] = {&TubeTimes::oldest_ready_s,
                                                  &TubeTimes::wait_p50_ms, &TubeTimes::wait_p99_ms,
                                                  &TubeTimes::work_p50_ms, &TubeTimes::work_p99_ms};
  std::optional<TubeTimes> slowest;
  for (const TubeStats* part : parts) {
    if (!part->times) continue;
    if (!slowest) slowest = TubeTimes{};
    for (const auto time : kTimes) *slowest.*time = std::max(*slowest.*time, *part->times.*time);
  }
  return slowest;
}

}  // namespace

bool is_summable(std::string_view key) {
  return key.starts_with("current-") || key.starts_with("cmd-") || key.starts_with("total-") ||
         key == "job-timeouts";
}

StatsText sum_of(std::span<const StatsText> servers) {
  std::vector<std::string> order;
  std::map<std::string, std::uint64_t> sums;
  for (const StatsText& server : servers) {
    for (const StatsText::Line& line : server.lines()) {
      const std::optional<std::uint64_t> number = server.number(line.key);
      if (!number || !is_summable(line.key)) continue;
      if (!sums.contains(line.key)) order.push_back(line.key);
      sums[line.key] += *number;
    }
  }
  StatsText sum;
  for (const std::string& key : order) sum.add({key, std::to_string(sums[key])});
  return sum;
}

std::vector<TubeStats> sum_of_tubes(std::span<const Sample> servers) {
  std::map<std::string, std::vector<const TubeStats*>> tubes;
  for (const Sample& server : servers) {
    for (const TubeStats& tube : server.tubes) tubes[tube.name].push_back(&tube);
  }
  std::vector<TubeStats> sums;
  for (const auto& [name, parts] : tubes) {
    std::optional<TubeStats> sum = tube_stats(name, report_of(name, parts));
    if (!sum) continue;
    sum->times = slowest_of(parts);
    sum->put_rate = sum_of_rates(parts, &TubeStats::put_rate);
    sum->delete_rate = sum_of_rates(parts, &TubeStats::delete_rate);
    sums.push_back(std::move(*sum));
  }
  return sums;
}

}  // namespace haricot::tool
