// Tables of all metrics.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "web/metrics/exposition.hpp"
#include "web/observe/tube_rows.hpp"

namespace haricot::web {

// A sample of a server's metric, from a key of `stats`.
struct ServerSeries {
  std::string_view key;
  std::string_view label;  // For example state="ready".
};

struct ServerMetric {
  Family family;
  std::string_view key;  // Key of its only sample, if `series` is empty.
  std::span<const ServerSeries> series = {};
  double factor = 1;
};
std::span<const ServerMetric> server_metrics();

// Value of a series that sums several tubes.
enum class Sum : std::uint8_t {
  added,
  largest,
  left_out,
};

struct TubeSeries {
  TubeField field;
  std::string_view label;
};

struct TubeMetric {
  Family family;
  std::span<const TubeSeries> series;  // If empty, there is one sample, of `field`.
  TubeField field;
  Sum sum;
  bool of_haricot;  // Unknown to beanstalkd.
  double factor = 1;
};
std::span<const TubeMetric> tube_metrics();

}  // namespace haricot::web
