#include "tool/bench/comparison.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <utility>

namespace haricot::tool {
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

}  // namespace haricot::tool
