// How many ready jobs tubes had at the last samples: for the chart of a tube, and for whether its
// backlog grows.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "haricot/base/time.hpp"
#include "tool/client/sample.hpp"

namespace haricot::tool {

class History {
 public:
  // Bounds the memory: 1.6 KiB a tube, and no tube more. A tube counts from its first ready job on.
  static constexpr std::size_t kSamplesMax = 400;
  static constexpr std::size_t kTubesMax = 4096;

  // Requires: samples come in the order of their times.
  void add(const Sample& sample);

  // The oldest first; empty if nothing is known of the tube. Valid until the next add(). Numbers
  // above 4294967295 are shown as this one.
  std::span<const std::uint32_t> ready(const std::string& tube) const;
  // Whether its backlog grew over the last ten samples (tool/client/growth.hpp).
  bool is_growing(const std::string& tube) const;
  // From the oldest of the last so many samples to the newest.
  Duration span_of(std::size_t samples) const;

 private:
  struct Track {
    std::vector<std::uint32_t> ready;
    std::uint64_t last_sample = 0;
  };

  void append(const TubeStats& tube);

  std::deque<Instant> times_;
  std::unordered_map<std::string, Track> tracks_;
  std::uint64_t samples_ = 0;
  bool was_full_ = false;  // Some tube was left out: a new one need not have been empty before.
};

}  // namespace haricot::tool
