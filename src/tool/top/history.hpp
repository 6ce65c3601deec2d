// Numbers of ready jobs of tubes at the last samples, for charts and for detecting a growing
// backlog.

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
  // Bound the memory: 1.6 KiB for each tube, and the number of tubes. A tube is recorded from its
  // first ready job on.
  static constexpr std::size_t kSamplesMax = 400;
  static constexpr std::size_t kTubesMax = 4096;

  // Requires: samples are added in the order of their times.
  void add(const Sample& sample);

  // Returns the numbers from the oldest to the newest; empty if the tube is unknown. Larger numbers
  // appear as 4294967295. Valid until the next add().
  std::span<const std::uint32_t> ready(const std::string& tube) const;
  // Returns true if the backlog grew over the last ten samples (tool/client/growth.hpp).
  bool is_growing(const std::string& tube) const;
  // Returns the time from the oldest of the last `samples` samples to the newest.
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
  bool was_full_ = false;  // A tube was left out, so a tube that appears later may have had jobs
                           // before.
};

}  // namespace haricot::tool
