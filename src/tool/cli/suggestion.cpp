#include "tool/cli/suggestion.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace haricot::tool {
namespace {

// Longer words are no mistyped names, and are not compared.
constexpr std::size_t kWordBytesMax = 64;

std::size_t changes_allowed(std::string_view word) {
  return std::clamp<std::size_t>(word.size() / 3, 1, 2);
}

}  // namespace

std::size_t typing_distance(std::string_view from, std::string_view to) {
  // Row i has the distances from the first i letters to all beginnings of the other word.
  std::vector<std::size_t> before(to.size() + 1);
  std::vector<std::size_t> last(to.size() + 1);
  std::vector<std::size_t> row(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      const bool is_exchange =
          i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
      if (is_exchange) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[to.size()];
}

std::string_view nearest_word(std::string_view mistyped, std::span<const std::string_view> words) {
  if (mistyped.size() > kWordBytesMax) return {};
  std::string_view nearest;
  std::size_t least = kWordBytesMax;
  for (const std::string_view word : words) {
    const std::size_t distance = typing_distance(mistyped, word);
    if (distance > changes_allowed(word) || distance >= least) continue;
    nearest = word;
    least = distance;
  }
  return nearest;
}

std::string suggestion(std::string_view mistyped, std::span<const std::string_view> words,
                       std::string_view prefix) {
  const std::string_view nearest = nearest_word(mistyped, words);
  if (nearest.empty()) return {};
  return " (did you mean " + std::string(prefix) + std::string(nearest) + "?)";
}

}  // namespace haricot::tool
