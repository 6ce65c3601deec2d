#include "tool/top/history.hpp"

#include <algorithm>
#include <limits>

#include "tool/client/growth.hpp"

namespace haricot::tool {

void History::add(const Sample& sample) {
  if (times_.size() == kSamplesMax) times_.pop_front();
  times_.push_back(sample.at);
  ++samples_;
  for (const TubeStats& tube : sample.tubes) append(tube);
  std::erase_if(tracks_, [this](const auto& each) { return each.second.last_sample != samples_; });
}

void History::append(const TubeStats& tube) {
  auto found = tracks_.find(tube.name);
  if (found == tracks_.end()) {
    if (tube.ready == 0) return;
    if (tracks_.size() == kTubesMax) {
      was_full_ = true;
      return;
    }
    found = tracks_.emplace(tube.name, Track{}).first;
    if (!was_full_) found->second.ready.assign(times_.size() - 1, 0);
  }
  Track& track = found->second;
  if (track.ready.size() == kSamplesMax) track.ready.erase(track.ready.begin());
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint32_t>::max();
  track.ready.push_back(static_cast<std::uint32_t>(std::min(tube.ready, kMax)));
  track.last_sample = samples_;
}

std::span<const std::uint32_t> History::ready(const std::string& tube) const {
  const auto found = tracks_.find(tube);
  if (found == tracks_.end()) return {};
  return found->second.ready;
}

bool History::is_growing(const std::string& tube) const {
  constexpr std::size_t kSamples = 10;
  const std::span<const std::uint32_t> all = ready(tube);
  return tool::is_growing(all.last(std::min(all.size(), kSamples)));
}

Duration History::span_of(std::size_t samples) const {
  if (samples < 2 || times_.empty()) return {};
  const std::size_t first = times_.size() - std::min(samples, times_.size());
  return times_.back() - times_[first];
}

}  // namespace haricot::tool
