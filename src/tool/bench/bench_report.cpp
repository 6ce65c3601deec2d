#include "tool/bench/bench_report.hpp"

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <system_error>
#include <utility>

#include "haricot/base/encoding.hpp"

namespace haricot::tool {
namespace {

// Share of a core above which the client may limit the rate.
constexpr double kClientBusy = 0.95;

struct Percentile {
  std::string_view name;
  double share;
};
constexpr Percentile kPercentiles[] = {{"p50", 0.5}, {"p99", 0.99}, {"p99.9", 0.999}};

std::string pad_left(std::string text, std::size_t width) {
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
  return text;
}

std::string pad_right(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

// Formats a number with `decimals` decimals.
std::string fixed(double value, int decimals) {
  char text[400];  // The largest double has 309 digits.
  const auto [end, error] =
      std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, decimals);
  return error == std::errc{} ? std::string(text, end) : "0";
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

// CPU time of the server for a command, in microseconds.
struct ServerCost {
  double all = 0;
  double user = 0;
  double system = 0;
  double core_share = 0;
};

ServerCost cost_of(const BenchResult& result) {
  const auto commands = static_cast<double>(result.tally.commands());
  const auto used = [&](std::uint64_t ProcessUsage::*part) {
    return microseconds((*result.after).*part - (*result.before).*part);
  };
  const double all = used(&ProcessUsage::cpu_ns);
  return {ratio(all, commands), ratio(used(&ProcessUsage::user_ns), commands),
          ratio(used(&ProcessUsage::system_ns), commands), ratio(all / 1e6, seconds_of(result))};
}

// Formats "1 tube", "2 tubes".
std::string counted(std::uint64_t number, std::string_view what) {
  std::string text = std::to_string(number) + " " + std::string(what);
  if (number != 1) text += 's';
  return text;
}

}  // namespace

std::string describe_load(const BenchOptions& o) {
  std::string text(name_of(o.workload));
  text += ", " + counted(o.connections, "connection") + ", " + counted(o.depth, "command") +
          " at once, bodies of " + counted(o.body_bytes, "byte") + ", " + counted(o.tubes, "tube");
  if (o.reserve_mode != ReserveMode::own_tube) {
    text += ", reserves from all tubes: " + std::string(name_of(o.reserve_mode));
  }
  if (o.unique) text += ", a key for each job";
  const Surroundings& s = o.surroundings;
  const struct {
    std::uint64_t number;
    std::string_view what;
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
    if (part.number == 0) continue;
    text += "\n  with " + std::to_string(part.number) + " ";
    text += part.what;
  }
  return text;
}

namespace {

std::string latency_row(std::string_view name, const Histogram& histogram, double seconds) {
  constexpr std::size_t kCountWidth = 12;
  constexpr std::size_t kTimeWidth = 9;
  const double rate = ratio(static_cast<double>(histogram.count()), seconds);
  std::string row = "  " + pad_right(std::string(name), 8) + " " +
                    pad_left(std::to_string(histogram.count()), kCountWidth) + " " +
                    pad_left(fixed(rate, 0), kCountWidth);
  for (const Percentile& percentile : kPercentiles) {
    const double time = microseconds(histogram.value_at(percentile.share));
    row += " " + pad_left(fixed(time, 1), kTimeWidth);
  }
  return row + " " + pad_left(fixed(microseconds(histogram.max()), 1), kTimeWidth) + "\n";
}

std::string server_lines(const BenchResult& result) {
  constexpr double kMebibyte = 1024 * 1024;
  const ServerCost cost = cost_of(result);
  const auto mebibytes = [](const ProcessUsage& usage) {
    return fixed(static_cast<double>(usage.resident_bytes) / kMebibyte, 1);
  };
  return "\n  server: " + fixed(cost.all, 2) + " us of CPU a command (about " +
         fixed(cost.user, 2) + " user, " + fixed(cost.system, 2) + " system), " +
         fixed(cost.core_share * 100, 0) + " % of a core\n          " +
         mebibytes(*result.at_first) + " MiB resident at first, " + mebibytes(*result.before) +
         " before the measurement, " + mebibytes(*result.after) + " after it\n";
}

std::string json_number(std::string_view name, std::uint64_t value) {
  return json_string(name) + ":" + std::to_string(value);
}

std::string json_decimal(std::string_view name, double value, int decimals) {
  return json_string(name) + ":" + fixed(value, decimals);
}

std::string json_latency(std::string_view name, const Histogram& histogram, double seconds) {
  const double rate = ratio(static_cast<double>(histogram.count()), seconds);
  std::string text = json_string(name) + ":{" + json_number("commands", histogram.count()) + "," +
                     json_decimal("rate", rate, 1);
  for (const Percentile& percentile : kPercentiles) {
    const double time = microseconds(histogram.value_at(percentile.share));
    text += "," + json_decimal(std::string(percentile.name) + "_us", time, 3);
  }
  return text + "," + json_decimal("max_us", microseconds(histogram.max()), 3) + "}";
}

std::string json_server(const BenchResult& result) {
  const ServerCost cost = cost_of(result);
  return ",\"server\":{" + json_decimal("cpu_us_per_command", cost.all, 4) + "," +
         json_decimal("user_us_per_command", cost.user, 4) + "," +
         json_decimal("system_us_per_command", cost.system, 4) + "," +
         json_decimal("core_share", cost.core_share, 3) + "," +
         json_number("resident_at_first", result.at_first->resident_bytes) + "," +
         json_number("resident_before", result.before->resident_bytes) + "," +
         json_number("resident_behind", result.after->resident_bytes) + "}";
}

bool server_is_known(const BenchResult& result) {
  return result.at_first && result.before && result.after;
}

// Returns the index of the first count above 0, and the index after the last one.
std::pair<std::size_t, std::size_t> used_bits(const std::array<std::uint64_t, 65>& counts) {
  std::size_t first = 0;
  std::size_t last = counts.size();
  while (first < last && counts[first] == 0) ++first;
  while (last > first && counts[last - 1] == 0) --last;
  return {first, last};
}

// Returns the upper end, in microseconds, of the values that need `bits` bits.
double upper_end_us(std::size_t bits) {
  return std::ldexp(1.0, static_cast<int>(bits)) / 1e3;
}

// Returns a row for each power of two of nanoseconds, from the fastest to the slowest answer.
std::string text_histogram(const Histogram& histogram) {
  constexpr std::uint64_t kBarColumns = 40;
  const auto counts = histogram.by_bits();
  const std::uint64_t most =
      std::max<std::uint64_t>(1, *std::max_element(counts.begin(), counts.end()));
  std::string text = "\n     up to us      answers\n";
  const auto [first, last] = used_bits(counts);
  for (std::size_t bits = first; bits < last; ++bits) {
    const std::uint64_t columns = (counts[bits] * kBarColumns + most - 1) / most;
    text += "  " + pad_left(fixed(upper_end_us(bits), 1), 11) + " " +
            pad_left(std::to_string(counts[bits]), 12);
    if (columns > 0) text += "  " + std::string(static_cast<std::size_t>(columns), '#');
    text += '\n';
  }
  return text;
}

std::string json_histogram(const Histogram& histogram) {
  const auto counts = histogram.by_bits();
  std::string text = ",\"histogram\":[";
  const auto [first, last] = used_bits(counts);
  for (std::size_t bits = first; bits < last; ++bits) {
    if (bits > first) text += ",";
    text += "{" + json_decimal("up_to_us", upper_end_us(bits), 3) + "," +
            json_number("answers", counts[bits]) + "}";
  }
  return text + "]";
}

}  // namespace

std::string text_report(const BenchOptions& options, const BenchResult& result) {
  const double seconds = seconds_of(result);
  const double client_share = ratio(static_cast<double>(result.client_cpu_ns) / 1e9, seconds);
  std::string text = result.address + ": " + describe_load(options) + "\n";
  if (result.was_interrupted) text += "  INTERRUPTED: results so far\n";
  const std::uint64_t commands = result.tally.commands();
  text += "  " + counted(commands, "command") + " in " + fixed(seconds, 2) +
          " s: " + fixed(ratio(static_cast<double>(commands), seconds), 0) + " commands/s\n\n";
  text += "               commands   commands/s   p50 us    p99 us  p99.9 us    max us\n";
  for (std::size_t i = 0; i < kOperations; ++i) {
    const Histogram& histogram = result.tally.latency_ns[i];
    if (histogram.count() > 0) {
      text += latency_row(name_of(static_cast<Operation>(i)), histogram, seconds);
    }
  }
  text += latency_row("all", all_steps(result.tally), seconds);
  if (options.histogram) text += text_histogram(all_steps(result.tally)) + "\n";
  if (server_is_known(result)) text += server_lines(result);
  text += "  client: " + fixed(client_share * 100, 0) + " % of a core\n";
  if (client_share > kClientBusy) {
    text += "  The client was busy all the time: the server may be faster than this.\n";
  }
  return text;
}

std::string json_report(const BenchOptions& options, const BenchResult& result) {
  const Surroundings& s = options.surroundings;
  const double seconds = seconds_of(result);
  std::string text = "{\"address\":" + json_string(result.address) +
                     ",\"workload\":" + json_string(name_of(options.workload)) +
                     ",\"reserve_mode\":" + json_string(name_of(options.reserve_mode)) +
                     ",\"unique\":" + (options.unique ? "true" : "false");
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
  const double rate = ratio(static_cast<double>(result.tally.commands()), seconds);
  text += "," + json_decimal("seconds", seconds, 6) + "," + json_decimal("rate", rate, 1);
  for (std::size_t i = 0; i < kOperations; ++i) {
    text += ",";
    text += json_latency(name_of(static_cast<Operation>(i)), result.tally.latency_ns[i], seconds);
  }
  text += "," + json_latency("all", all_steps(result.tally), seconds);
  const double client_share = ratio(static_cast<double>(result.client_cpu_ns) / 1e9, seconds);
  text += "," + json_decimal("client_core_share", client_share, 3);
  if (options.histogram) text += json_histogram(all_steps(result.tally));
  if (server_is_known(result)) text += json_server(result);
  return text + "}\n";
}

namespace {

struct Sums {
  Histogram latency_ns;
  double rate = 0;  // Median of the turns.
};

struct Ratio {
  double rate = 0;  // Median of the turns.
  double rate_min = 0;
  double rate_max = 0;
  double p50 = 0;
  double p99 = 0;
};

double rate_of(const BenchResult& result) {
  const double seconds = static_cast<double>(result.tally.elapsed.count()) / 1e9;
  return seconds > 0 ? static_cast<double>(result.tally.commands()) / seconds : 0;
}

double quotient(double above, double below) {
  return below > 0 ? above / below : 0;
}

// Requires: !values.empty().
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Sums sums_of(const std::vector<BenchResult>& turns) {
  Sums sums;
  std::vector<double> rates;
  for (const BenchResult& turn : turns) {
    for (const Histogram& histogram : turn.tally.latency_ns) sums.latency_ns.add(histogram);
    rates.push_back(rate_of(turn));
  }
  sums.rate = median(std::move(rates));
  return sums;
}

double latency_us(const Sums& sums, double share) {
  return static_cast<double>(sums.latency_ns.value_at(share)) / 1e3;
}

Ratio ratio_of(const Comparison& comparison, const std::array<Sums, 2>& sums) {
  std::vector<double> rates;
  for (std::size_t i = 0; i < comparison.turns[0].size(); ++i) {
    rates.push_back(quotient(rate_of(comparison.turns[1][i]), rate_of(comparison.turns[0][i])));
  }
  return {.rate = median(rates),
          .rate_min = *std::min_element(rates.begin(), rates.end()),
          .rate_max = *std::max_element(rates.begin(), rates.end()),
          .p50 = quotient(latency_us(sums[1], 0.5), latency_us(sums[0], 0.5)),
          .p99 = quotient(latency_us(sums[1], 0.99), latency_us(sums[0], 0.99))};
}

}  // namespace

std::string text_report(const BenchOptions& options, const Comparison& comparison) {
  std::string text = describe_load(options) + ", in " + std::to_string(comparison.turns[0].size()) +
                     " turns\n\n" + "   commands/s    p50 us    p99 us  p99.9 us  server\n";
  std::array<Sums, 2> sums;
  char line[120];
  for (std::size_t i = 0; i < 2; ++i) {
    sums[i] = sums_of(comparison.turns[i]);
    std::snprintf(line, sizeof line, "%13.0f %9.1f %9.1f %9.1f  ", sums[i].rate,
                  latency_us(sums[i], 0.5), latency_us(sums[i], 0.99), latency_us(sums[i], 0.999));
    text += line + comparison.turns[i][0].address + "\n";
  }
  const Ratio ratio = ratio_of(comparison, sums);
  std::snprintf(line, sizeof line, "%13.2f %9.2f %9.2f            ", ratio.rate, ratio.p50,
                ratio.p99);
  text += std::string(line) + "ratio, second to first\n";
  std::snprintf(line, sizeof line, "\n  ratio of commands/s in the turns: %.2f to %.2f\n",
                ratio.rate_min, ratio.rate_max);
  return text + line;
}

std::string json_report(const BenchOptions& options, const Comparison& comparison) {
  std::string text = "{\"servers\":[";
  std::array<Sums, 2> sums;
  for (std::size_t i = 0; i < 2; ++i) {
    sums[i] = sums_of(comparison.turns[i]);
    text += i == 0 ? "[" : ",[";
    for (const BenchResult& turn : comparison.turns[i]) {
      std::string report = json_report(options, turn);
      report.pop_back();  // Remove the line end.
      if (!text.ends_with('[')) text += ',';
      text += report;
    }
    text += ']';
  }
  const Ratio ratio = ratio_of(comparison, sums);
  char end[200];
  std::snprintf(end, sizeof end,
                "],\"ratio\":{\"rate\":%.4f,\"rate_min\":%.4f,\"rate_max\":%.4f,\"p50\":%.4f,"
                "\"p99\":%.4f}}\n",
                ratio.rate, ratio.rate_min, ratio.rate_max, ratio.p50, ratio.p99);
  return text + end;
}

std::optional<std::string> IntervalReport::take(const Tally& so_far) {
  if (so_far.elapsed < next_) return std::nullopt;
  while (next_ <= so_far.elapsed) next_ = Duration::nanoseconds(next_.count() + interval_.count());
  Histogram since;
  for (std::size_t i = 0; i < kOperations; ++i) {
    Histogram operation = so_far.latency_ns[i];
    operation.subtract(before_.latency_ns[i]);
    since.add(operation);
  }
  const double end = static_cast<double>(so_far.elapsed.count()) / 1e9;
  const double seconds = end - static_cast<double>(before_.elapsed.count()) / 1e9;
  const double rate = static_cast<double>(since.count()) / seconds;
  const double p50 = static_cast<double>(since.value_at(0.5)) / 1e3;
  const double p99 = static_cast<double>(since.value_at(0.99)) / 1e3;
  before_ = so_far;

  char line[200];
  if (is_json_) {
    std::snprintf(line, sizeof line,
                  "{\"at\":%.3f,\"commands\":%" PRIu64
                  ",\"rate\":%.1f,\"p50_us\":%.3f,\"p99_us\":%.3f}\n",
                  end, since.count(), rate, p50, p99);
    return line;
  }
  std::snprintf(line, sizeof line, "%9.1f %12" PRIu64 " %12.0f %9.1f %9.1f\n", end, since.count(),
                rate, p50, p99);
  std::string text = has_title_ ? "" : "  seconds     commands   commands/s    p50 us    p99 us\n";
  has_title_ = true;
  return text + line;
}

}  // namespace haricot::tool
