// Families of metrics: the tables of all of them, and their text.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "web/observe/tube_rows.hpp"

namespace haricot::web {

enum class MetricType : std::uint8_t { gauge, counter };

struct Family {
  std::string_view name;  // Without the _total of a counter.
  MetricType type;
  std::string_view help;
};

// Returns a label with its escaped value: server="127.0.0.1:11300".
std::string label(std::string_view name, std::string_view value);

// Writes metrics as text, in the format of Prometheus or of OpenMetrics.
class Exposition final {
 public:
  explicit Exposition(bool is_openmetrics) : is_openmetrics_(is_openmetrics) {}

  std::string_view content_type() const;

  // Begins a family; its samples follow. A family without samples is omitted.
  void begin(const Family& family);
  // Adds a sample. `labels` are results of label() with commas between; may be empty.
  void add(std::string_view labels, double value);
  void add(std::string_view labels, std::uint64_t value);
  // Ends the text.
  void end();

  // Returns the text that was added since the last call.
  std::string take();

 private:
  void add_text(std::string_view labels, std::string_view value);

  bool is_openmetrics_;
  Family family_{};
  bool has_begun_ = false;  // The family has a sample.
  std::string text_;
};

// A sample of a server's metric.
struct ServerSeries {
  std::string_view key;          // End of its key in `stats`.
  std::string_view value = key;  // Value of the label.
};

struct ServerMetric {
  Family family;
  std::string_view key;         // Key of its only sample in `stats`, or the beginning of all keys.
  std::string_view label = {};  // Name of the label; empty if there is one sample.
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
  TubeField field;  // Value of its only sample, if `series` is empty.
  Sum sum = Sum::added;
  std::span<const TubeSeries> series = {};
  double factor = 1;
};
std::span<const TubeMetric> tube_metrics();

}  // namespace haricot::web
