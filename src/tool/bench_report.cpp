#include "tool/bench_report.hpp"

#include <cstdarg>
#include <cstdio>
#include <string_view>

namespace haricot::tool {
namespace {

// From this share of a core on, the client and not the server may be what limits the rate.
constexpr double kClientBusy = 0.95;

struct Percentile {
  std::string_view name;
  double share;
};
constexpr Percentile kPercentiles[] = {{"p50", 0.5}, {"p99", 0.99}, {"p99.9", 0.999}};

[[gnu::format(printf, 1, 2)]] std::string format(const char* text, ...) {
  char line[512];
  std::va_list arguments;
  va_start(arguments, text);
  std::vsnprintf(line, sizeof line, text, arguments);
  va_end(arguments);
  return line;
}

double ratio(double part, double of) {
  return of > 0 ? part / of : 0;
}

double microseconds(std::uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e3;
}

double seconds_of(const BenchResult& result) {
  return static_cast<double>(result.tally.elapsed.count()) / 1e9;
}

Histogram all_steps(const Tally& tally) {
  Histogram sum;
  for (const Histogram& histogram : tally.latency_ns) sum.add(histogram);
  return sum;
}

// What of the server's CPU time falls to a command, in microseconds.
struct ServerCost {
  double all = 0;
  double user = 0;
  double system = 0;
  double core_share = 0;
};

ServerCost cost_of(const BenchResult& result) {
  const auto commands = static_cast<double>(result.tally.commands());
  const auto used = [&](std::uint64_t ProcessUsage::*part) {
    return microseconds((*result.behind).*part - (*result.before).*part);
  };
  const double all = used(&ProcessUsage::cpu_ns);
  return {ratio(all, commands), ratio(used(&ProcessUsage::user_ns), commands),
          ratio(used(&ProcessUsage::system_ns), commands), ratio(all / 1e6, seconds_of(result))};
}

std::string describe_load(const BenchOptions& o) {
  const auto count = [](std::uint64_t number) { return static_cast<unsigned long long>(number); };
  std::string text =
      format("%s, %llu connection%s, %llu command%s at once, bodies of %llu bytes, %llu tube%s",
             name_of(o.workload).data(), count(o.connections), o.connections == 1 ? "" : "s",
             count(o.depth), o.depth == 1 ? "" : "s", count(o.body_bytes), count(o.tubes),
             o.tubes == 1 ? "" : "s");
  const Surroundings& s = o.surroundings;
  const struct {
    std::uint64_t number;
    const char* what;
  } parts[] = {
      {s.ready, "older ready jobs"},
      {s.delayed, "delayed jobs"},
      {s.idle_tubes, "other tubes"},
      {s.waiting, "workers waiting on other tubes"},
      {s.waiting_together, "workers waiting on one other tube"},
      {s.idle_connections, "idle connections"},
      {o.watched_tubes, "more tubes watched by each"},
  };
  for (const auto& part : parts) {
    if (part.number > 0) text += format("\n  with %llu %s", count(part.number), part.what);
  }
  return text;
}

std::string latency_row(std::string_view name, const Histogram& histogram, double seconds) {
  std::string row = format("  %-8.*s %12llu %12.0f", static_cast<int>(name.size()), name.data(),
                           static_cast<unsigned long long>(histogram.count()),
                           ratio(static_cast<double>(histogram.count()), seconds));
  for (const Percentile& percentile : kPercentiles) {
    row += format(" %9.1f", microseconds(histogram.value_at(percentile.share)));
  }
  return row + format(" %9.1f\n", microseconds(histogram.max()));
}

std::string server_lines(const BenchResult& result) {
  constexpr double kMebibyte = 1024 * 1024;
  const ServerCost cost = cost_of(result);
  const auto mebibytes = [](const ProcessUsage& usage) {
    return static_cast<double>(usage.resident_bytes) / kMebibyte;
  };
  return format(
      "\n  server: %.2f us of CPU a command (about %.2f user, %.2f system), %.0f %% of a core\n"
      "          %.1f MiB resident at first, %.1f before the measurement, %.1f behind it\n",
      cost.all, cost.user, cost.system, cost.core_share * 100, mebibytes(*result.at_first),
      mebibytes(*result.before), mebibytes(*result.behind));
}

std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < ' ') {
      quoted += format("\\u%04x", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string json_number(std::string_view name, std::uint64_t value) {
  return json_string(name) + ":" + std::to_string(value);
}

std::string json_latency(std::string_view name, const Histogram& histogram, double seconds) {
  std::string text =
      json_string(name) + ":{" + json_number("commands", histogram.count()) +
      format(",\"rate\":%.1f", ratio(static_cast<double>(histogram.count()), seconds));
  for (const Percentile& percentile : kPercentiles) {
    text += "," + json_string(std::string(percentile.name) + "_us") +
            format(":%.3f", microseconds(histogram.value_at(percentile.share)));
  }
  return text + format(",\"max_us\":%.3f}", microseconds(histogram.max()));
}

std::string json_server(const BenchResult& result) {
  const ServerCost cost = cost_of(result);
  return format(
      ",\"server\":{\"cpu_us_per_command\":%.4f,\"user_us_per_command\":%.4f,"
      "\"system_us_per_command\":%.4f,\"core_share\":%.3f,\"resident_at_first\":%llu,"
      "\"resident_before\":%llu,\"resident_behind\":%llu}",
      cost.all, cost.user, cost.system, cost.core_share,
      static_cast<unsigned long long>(result.at_first->resident_bytes),
      static_cast<unsigned long long>(result.before->resident_bytes),
      static_cast<unsigned long long>(result.behind->resident_bytes));
}

bool server_is_known(const BenchResult& result) {
  return result.at_first && result.before && result.behind;
}

}  // namespace

std::string text_report(const BenchOptions& options, const BenchResult& result) {
  const double seconds = seconds_of(result);
  const double client_share = ratio(static_cast<double>(result.client_cpu_ns) / 1e9, seconds);
  std::string text = result.address + ": " + describe_load(options) + "\n";
  if (result.was_interrupted) text += "  INTERRUPTED: this is what was measured until then\n";
  text += format("  %llu commands in %.2f s: %.0f commands/s\n\n",
                 static_cast<unsigned long long>(result.tally.commands()), seconds,
                 ratio(static_cast<double>(result.tally.commands()), seconds));
  text += "               commands   commands/s   p50 us    p99 us  p99.9 us    max us\n";
  for (std::size_t i = 0; i < kSteps; ++i) {
    const Histogram& histogram = result.tally.latency_ns[i];
    if (histogram.count() > 0) {
      text += latency_row(name_of(static_cast<Step>(i)), histogram, seconds);
    }
  }
  text += latency_row("all", all_steps(result.tally), seconds);
  if (server_is_known(result)) text += server_lines(result);
  text += format("  client: %.0f %% of a core\n", client_share * 100);
  if (client_share > kClientBusy) {
    text += "  The client had no time left: the server may be faster than this.\n";
  }
  return text;
}

std::string json_report(const BenchOptions& options, const BenchResult& result) {
  const Surroundings& s = options.surroundings;
  const double seconds = seconds_of(result);
  std::string text = "{\"address\":" + json_string(result.address) +
                     ",\"workload\":" + json_string(name_of(options.workload));
  const struct {
    std::string_view name;
    std::uint64_t value;
  } numbers[] = {
      {"connections", options.connections},
      {"depth", options.depth},
      {"body_bytes", options.body_bytes},
      {"tubes", options.tubes},
      {"watched_tubes", options.watched_tubes},
      {"ready", s.ready},
      {"delayed", s.delayed},
      {"idle_tubes", s.idle_tubes},
      {"waiting", s.waiting},
      {"waiting_together", s.waiting_together},
      {"idle_connections", s.idle_connections},
      {"warm_up", options.warm_up},
      {"commands", result.tally.commands()},
  };
  for (const auto& number : numbers) text += "," + json_number(number.name, number.value);
  text += std::string(",\"interrupted\":") + (result.was_interrupted ? "true" : "false");
  text += format(",\"seconds\":%.6f,\"rate\":%.1f", seconds,
                 ratio(static_cast<double>(result.tally.commands()), seconds));
  for (std::size_t i = 0; i < kSteps; ++i) {
    text += ",";
    text += json_latency(name_of(static_cast<Step>(i)), result.tally.latency_ns[i], seconds);
  }
  text += "," + json_latency("all", all_steps(result.tally), seconds);
  text += format(",\"client_core_share\":%.3f",
                 ratio(static_cast<double>(result.client_cpu_ns) / 1e9, seconds));
  if (server_is_known(result)) text += json_server(result);
  return text + "}\n";
}

}  // namespace haricot::tool
