#include "web/metrics/tube_choice.hpp"

#include <algorithm>

#include "haricot/base/check.hpp"

namespace haricot::web {
namespace {

constexpr int kNotChosen = -1;
constexpr int kNotWanted = -2;
constexpr int kNotSeen = -3;

bool is_largest(TubeField field) {
  return field >= TubeField::pause && field <= TubeField::work_p99;
}

}  // namespace

void add_row(TubeRow& sum, const TubeRow& row) {
  for (std::size_t i = 0; i < kTubeFields; ++i) {
    if (is_largest(static_cast<TubeField>(i))) {
      sum.numbers[i] = std::max(sum.numbers[i], row.numbers[i]);
    } else {
      sum.numbers[i] += row.numbers[i];
    }
  }
}

TubeChoice::TubeChoice(const Facts& facts, const TubeLabels& labels)
    : labels_(labels),
      sample_(facts.tubes),
      counts_(facts.labels),
      place_(labels.names().size(), kNotSeen) {
  CHECK(sample_ != nullptr);
  rest_ = {
      .name = std::string(TubeLabels::kRest), .row = {}, .is_sum = true, .has_counters = false};
}

bool TubeChoice::look_at(std::size_t tubes, const NamePattern* pattern, std::size_t& room) {
  const TubeRows& rows = sample_->rows;
  for (; tubes > 0 && next_ < rows.size(); --tubes, ++next_) {
    const TubeRow row = rows.at(next_);
    if (row.label != 0) {
      add_to_label(row, pattern, room);
      continue;
    }
    if (pattern != nullptr && !pattern->matches(row.name)) continue;
    if (room > 0) {
      --room;
      chosen_.push_back({.name = std::string(row.name), .row = row});
    } else {
      add_row(rest_.row, row);
      ++left_out_;
    }
  }
  if (next_ < rows.size()) return true;
  finish();
  return false;
}

void TubeChoice::add_to_label(const TubeRow& row, const NamePattern* pattern, std::size_t& room) {
  const std::string& name = labels_.names()[row.label - 1U];
  int& place = place_[row.label - 1U];
  if (place == kNotSeen) {
    const bool is_wanted = pattern == nullptr || pattern->matches(name);
    place = !is_wanted ? kNotWanted : kNotChosen;
    if (is_wanted && room > 0) {
      --room;
      place = static_cast<int>(chosen_.size());
      chosen_.push_back({.name = name, .row = {}, .is_sum = true});
    }
  }
  if (place == kNotWanted) return;
  if (place == kNotChosen) ++left_out_;
  add_row(place == kNotChosen ? rest_.row : chosen_[static_cast<std::size_t>(place)].row, row);
}

void TubeChoice::finish() {
  if (is_finished_) return;
  is_finished_ = true;
  for (std::size_t i = 0; i < place_.size() && i < counts_.size(); ++i) {
    if (place_[i] < 0) continue;
    // What tubes have counted that are gone counts still.
    TubeRow& row = chosen_[static_cast<std::size_t>(place_[i])].row;
    row[TubeField::puts] = counts_[i].puts;
    row[TubeField::deletes] = counts_[i].deletes;
    row[TubeField::pauses] = counts_[i].pauses;
  }
  if (left_out_ > 0) chosen_.push_back(rest_);
}

}  // namespace haricot::web
