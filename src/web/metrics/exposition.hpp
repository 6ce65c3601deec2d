// Metrics as text, in the format of Prometheus or in that of OpenMetrics.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace haricot::web {

enum class MetricType : std::uint8_t { gauge, counter };

struct Family {
  std::string_view name;  // Without the _total of a counter.
  MetricType type;
  std::string_view help;
};

// A label with its value, escaped: server="127.0.0.1:11300".
std::string label(std::string_view name, std::string_view value);

class Exposition final {
 public:
  explicit Exposition(bool is_openmetrics) : is_openmetrics_(is_openmetrics) {}

  std::string_view content_type() const;

  // All samples of a family follow its beginning. A family without samples leaves nothing.
  void begin(const Family& family);
  // `labels`: those of label(), with commas between; may be empty.
  void add(std::string_view labels, double value);
  void add(std::string_view labels, std::uint64_t value);
  // After the last one.
  void end();

  // What has been added since the last call.
  std::string take();

 private:
  void add_text(std::string_view labels, std::string_view value);

  bool is_openmetrics_;
  Family family_{};
  bool has_begun_ = false;  // The family has a sample.
  std::string text_;
};

}  // namespace haricot::web
