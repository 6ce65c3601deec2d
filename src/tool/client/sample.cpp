#include "tool/client/sample.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <string_view>
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

bool take_sample(Remote& server, const std::vector<std::string>& patterns, Sample& sample) {
  bool is_there = false;
  std::optional<StatsText> stats = server.ask_stats("stats", is_there);
  if (!stats) return false;
  const std::optional<std::vector<std::string>> names = server.ask_list();
  if (!names) return false;

  std::vector<std::string> wanted;
  std::string commands;
  for (const std::string& name : *names) {
    if (!is_wanted(name, patterns)) continue;
    wanted.push_back(name);
    commands += "stats-tube " + name + "\r\n";
  }
  sample = {.at = {}, .server = std::move(*stats), .tubes = {}};
  std::size_t next = 0;
  std::string odd;
  const auto take = [&](const Answer& answer) {
    std::string& name = wanted[next++];
    if (answer.code == ReplyCode::not_found) return;  // The tube was deleted meanwhile.
    std::optional<TubeStats> tube = tube_stats(std::move(name), std::string(answer.body));
    if (answer.code == ReplyCode::ok && tube) {
      sample.tubes.push_back(std::move(*tube));
    } else if (odd.empty()) {
      odd = answer.line;
    }
  };
  if (!server.ask("stats-tube", commands, wanted.size(), take)) return false;
  if (!odd.empty()) {
    server.refuse("stats-tube", ReplyCode::none, odd);
    return false;
  }
  sample.at = os::read_clock();
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

}  // namespace haricot::tool
