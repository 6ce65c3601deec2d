// Lines during a benchmark, each with the results since the previous line.

#pragma once

#include <optional>
#include <string>

#include "haricot/base/time.hpp"
#include "tool/bench/load.hpp"

namespace haricot::tool {

class IntervalReport final {
 public:
  // With `is_json`, each line is a JSON object with times in microseconds.
  IntervalReport(Duration interval, bool is_json)
      : interval_(interval), next_(interval), is_json_(is_json) {}

  // Returns the next line, at first after a line of titles, or nothing if it is too early.
  // Requires: `so_far` belongs to the same run in all calls, and only grows.
  std::optional<std::string> take(const Tally& so_far);

 private:
  Duration interval_;
  Duration next_;  // Since the beginning of the run.
  bool is_json_;
  bool has_title_ = false;
  Tally before_;
};

}  // namespace haricot::tool
