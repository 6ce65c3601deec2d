// A line now and then while a benchmark runs: what was done since the line before it.

#pragma once

#include <optional>
#include <string>

#include "haricot/base/time.hpp"
#include "tool/bench/load.hpp"

namespace haricot::tool {

class IntervalReport final {
 public:
  // As JSON: each line is an object, with times in microseconds.
  IntervalReport(Duration interval, bool is_json)
      : interval_(interval), next_(interval), is_json_(is_json) {}

  // The next line, or the title and the first one. Nothing: it is too early. Requires: `so_far` is
  // the same run each time, and only grows.
  std::optional<std::string> take(const Tally& so_far);

 private:
  Duration interval_;
  Duration next_;  // Since the run began.
  bool is_json_;
  bool has_title_ = false;
  Tally before_;
};

}  // namespace haricot::tool
