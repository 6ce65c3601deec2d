#include "tool/client/sample.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>

#include "os/clock.hpp"
#include "tool/cli/subcommand.hpp"

namespace haricot::tool {
namespace {

double seconds_between(const Sample& before, const Sample& now) {
  return static_cast<double>((now.at - before.at).count()) / 1e9;
}

bool is_same_process(const StatsText& before, const StatsText& now) {
  for (const char* key : {"id", "pid"}) {
    const std::string* first = before.find(key);
    const std::string* second = now.find(key);
    if ((first == nullptr) != (second == nullptr)) return false;
    if (first != nullptr && *first != *second) return false;
  }
  return before.number("uptime").value_or(0) <= now.number("uptime").value_or(0);
}

std::uint64_t sum_of_commands(const StatsText& stats) {
  std::uint64_t sum = 0;
  for (const StatsText::Line& line : stats.lines()) {
    if (line.key.starts_with("cmd-")) sum += stats.number(line.key).value_or(0);
  }
  return sum;
}

}  // namespace

bool is_wanted(const std::string& name, const std::vector<std::string>& patterns) {
  return patterns.empty() ||
         std::any_of(patterns.begin(), patterns.end(), [&name](const std::string& pattern) {
           return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
         });
}

void SampleRound::take(const Answer& answer) {
  if (wanted_.empty()) {
    answer_ = copy_of(answer);
    return;
  }
  std::string& name = wanted_[taken_++];
  if (answer.code == ReplyCode::not_found) return;  // The tube was deleted meanwhile.
  std::optional<TubeStats> tube = tube_stats(std::move(name), std::string(answer.body));
  if (answer.code == ReplyCode::ok && tube) {
    sample_.tubes.push_back(std::move(*tube));
  } else if (answer_.code == ReplyCode::ok) {
    answer_ = {ReplyCode::none, 0, std::string(answer.line), {}};
  }
}

bool SampleRound::proceed(Remote& server) {
  if (answer_.code != ReplyCode::ok) {
    server.refuse(name(), answer_.code, answer_.line);
    return false;
  }
  bool is_readable = true;
  if (step_ == 0) {
    std::optional<StatsText> stats = StatsText::parse(answer_.body);
    is_readable = stats.has_value();
    if (stats) sample_.server = std::move(*stats);
    commands_ = "list-tubes\r\n";
  } else if (step_ == 1) {
    is_readable = choose_tubes();
  }
  if (!is_readable) server.cannot_read(name());
  step_ = commands_.empty() ? kNames.size() : step_ + 1;
  sample_.at = os::read_clock();
  return is_readable;
}

// Returns false if the answer is no list.
bool SampleRound::choose_tubes() {
  const std::optional<std::vector<std::string>> names = parse_list(answer_.body);
  commands_.clear();
  for (const std::string& name : names.value_or(std::vector<std::string>{})) {
    if (!is_wanted(name, patterns_)) continue;
    wanted_.push_back(name);
    commands_ += "stats-tube " + name + "\r\n";
  }
  return names.has_value();
}

bool take_sample(Remote& server, const std::vector<std::string>& patterns, Sample& sample) {
  SampleRound round(patterns);
  const auto take = [&round](const Answer& answer) { round.take(answer); };
  while (!round.is_over()) {
    if (!server.ask(round.name(), round.commands(), round.answers(), take)) return false;
    if (!round.proceed(server)) return false;
  }
  sample = std::move(round.sample());
  return true;
}

bool take_times(Remote& server, Sample& sample) {
  constexpr std::string_view kCommand = "stats-tube-detail";
  const std::optional<Response> response = server.ask("capabilities");
  if (!response) return false;
  const std::optional<std::vector<std::string>> known = parse_list(response->body);
  if (!known || std::find(known->begin(), known->end(), kCommand) == known->end()) return true;
  std::string commands;
  for (const TubeStats& tube : sample.tubes) {
    commands += std::string(kCommand) + " " + tube.name + "\r\n";
  }
  std::size_t next = 0;
  const auto take = [&](const Answer& answer) {
    TubeStats& tube = sample.tubes[next++];
    // Skips tubes that were deleted meanwhile.
    if (answer.code == ReplyCode::ok) static_cast<void>(add_times(tube, answer.body));
  };
  return server.ask(kCommand, commands, sample.tubes.size(), take);
}

ServerRates rates_between(const Sample& before, const Sample& now) {
  const double seconds = seconds_between(before, now);
  if (!is_same_process(before.server, now.server) || seconds <= 0) return {};
  const auto rate = [&](std::string_view key) -> std::optional<double> {
    const std::optional<double> first = before.server.decimal(key);
    const std::optional<double> second = now.server.decimal(key);
    if (!first || !second || *second < *first) return std::nullopt;
    return (*second - *first) / seconds;
  };
  ServerRates rates;
  const auto commands = sum_of_commands(now.server) - sum_of_commands(before.server);
  rates.commands = static_cast<double>(commands) / seconds;
  rates.puts = rate("total-jobs");
  rates.reserves = rate("cmd-reserve");
  const std::optional<double> with_timeout = rate("cmd-reserve-with-timeout");
  if (rates.reserves && with_timeout) *rates.reserves += *with_timeout;
  rates.deletes = rate("cmd-delete");
  rates.timeouts = rate("job-timeouts");
  rates.connections = rate("total-connections");
  const std::optional<double> user = rate("rusage-utime");
  const std::optional<double> system = rate("rusage-stime");
  if (user && system) rates.cpu_percent = (*user + *system) * 100;
  return rates;
}

void set_tube_rates(const Sample& before, Sample& now) {
  if (!is_same_process(before.server, now.server)) return;
  std::unordered_map<std::string_view, const TubeStats*> known;
  for (const TubeStats& tube : before.tubes) known[tube.name] = &tube;
  const TubeStats nothing;
  const double seconds = seconds_between(before, now);
  for (TubeStats& tube : now.tubes) {
    const auto found = known.find(tube.name);
    set_rates(tube, found == known.end() ? nothing : *found->second, seconds);
  }
}

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
