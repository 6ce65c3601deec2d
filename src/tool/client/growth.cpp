#include "tool/client/growth.hpp"

#include <algorithm>
#include <cstddef>

namespace haricot::tool {

bool is_growing(std::span<const std::uint32_t> ready) {
  constexpr std::size_t kCountsMin = 4;
  if (ready.size() < kCountsMin) return false;
  const std::span<const std::uint32_t> newer = ready.last(ready.size() / 2);
  const std::span<const std::uint32_t> older = ready.first(ready.size() - newer.size());
  return *std::min_element(newer.begin(), newer.end()) >
         *std::max_element(older.begin(), older.end());
}

}  // namespace haricot::tool
