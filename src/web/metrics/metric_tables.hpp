// Which metrics there are: one row each.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "web/metrics/exposition.hpp"
#include "web/observe/tube_rows.hpp"

namespace haricot::web {

// A sample of a metric of a server: a key of `stats`.
struct ServerSeries {
  std::string_view key;
  std::string_view label;  // As state="ready".
};

struct ServerMetric {
  Family family;
  std::string_view key;  // Of its only sample, or
  std::span<const ServerSeries> series = {};
  double factor = 1;
};
std::span<const ServerMetric> server_metrics();

// What becomes of it where several tubes are one series.
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
  std::span<const TubeSeries> series;  // Empty: it has one sample, of `field`.
  TubeField field;
  Sum sum;
  bool of_haricot;  // beanstalkd does not tell it.
  double factor = 1;
};
std::span<const TubeMetric> tube_metrics();

}  // namespace haricot::web
