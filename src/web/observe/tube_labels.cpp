#include "web/observe/tube_labels.hpp"

#include <algorithm>
#include <utility>

#include "tool/client/stats_text.hpp"

namespace haricot::web {

bool TubeLabels::add(std::string_view text, std::string& error) {
  const std::size_t equals = text.rfind('=');
  const std::string_view name = equals == std::string_view::npos ? "" : text.substr(equals + 1);
  if (!tool::can_be_asked_for(name) || name == kRest || rows_.size() == kLabelsMax) {
    error = "must be REGEX=NAME; at most " + std::to_string(kLabelsMax) + " labels";
    return false;
  }
  std::unique_ptr<NamePattern> pattern = NamePattern::make(text.substr(0, equals), error);
  if (!pattern) return false;
  const auto known = std::find(names_.begin(), names_.end(), name);
  const std::uint8_t label = label_at(known);
  if (known == names_.end()) names_.emplace_back(name);
  rows_.push_back({std::move(pattern), label});
  return true;
}

std::uint8_t TubeLabels::label_of(std::string_view tube) const {
  for (const Row& row : rows_) {
    if (row.pattern->matches(tube)) return row.label;
  }
  // A tube with the name of a label belongs to it, so that each name has one series.
  const auto known = std::find(names_.begin(), names_.end(), tube);
  return known == names_.end() ? std::uint8_t{0} : label_at(known);
}

}  // namespace haricot::web
