#include "web/metrics/tube_choice.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "haricot/base/check.hpp"

namespace haricot::web {
namespace {

constexpr int kNotWanted = -2;
constexpr int kNotSeen = -3;
// Steps to unpack and rank a tube.
constexpr std::size_t kStepsOfTube = 500;

bool is_largest(TubeField field) {
  return (field >= TubeField::pause && field <= TubeField::work_p99) || field >= TubeField::overdue;
}

void derive(TubeRow& row) {
  if (row.paused_s() > 0 || row[TubeField::blocked] == row[TubeField::ready]) return;
  row[TubeField::overdue] = row[TubeField::oldest_ready];
  if (row[TubeField::reserved] > 0 || row[TubeField::waiting] > 0) return;
  row[TubeField::unattended] = row[TubeField::oldest_ready];
}

// Ranks a tube: tubes with jobs first, then trouble, then the age of the oldest job, then the
// number of jobs.
std::uint64_t rank_of(const TubeRow& row) {
  constexpr std::uint64_t kMax = (1U << 30) - 1;
  const std::uint64_t stuck = row[TubeField::ready] + row[TubeField::buried];
  const std::uint64_t jobs = stuck + row[TubeField::reserved] + row[TubeField::delayed];
  const bool has_workers = row[TubeField::reserved] + row[TubeField::waiting] > 0;
  const bool has_trouble =
      row[TubeField::buried] > 0 || (row[TubeField::ready] > 0 && !has_workers);
  const std::uint64_t age = std::max(row[TubeField::oldest_ready], row[TubeField::oldest_buried]);
  return std::uint64_t{jobs > 0} << 63 | std::uint64_t{has_trouble} << 62 |
         std::min(age, kMax) << 30 | std::min(jobs, kMax);
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

bool TubeChoice::read(std::size_t steps, const NamePattern* pattern) {
  const TubeRows& rows = sample_->rows;
  // Reads at least one, so that it ends.
  for (std::size_t spent = 0; spent < std::max<std::size_t>(steps, 1) && next_ < rows.size();) {
    TubeRow row = rows.at(next_);
    spent += kStepsOfTube + (pattern == nullptr ? 0 : pattern->steps_for(row.name.size()));
    const auto index = static_cast<std::uint32_t>(next_++);
    if (row.label != 0) {
      derive(row);
      add_to_label(row, pattern);
    } else if (pattern == nullptr || pattern->matches(row.name)) {
      best_.push_back({rank_of(row), index});
      std::push_heap(best_.begin(), best_.end(), std::greater<>());
      if (best_.size() > kTubesMax) drop_last();
    }
  }
  return next_ < rows.size();
}

void TubeChoice::add_to_label(const TubeRow& row, const NamePattern* pattern) {
  const std::size_t label = row.label - 1U;
  int& place = place_[label];
  if (place == kNotSeen) {
    const bool is_wanted = pattern == nullptr || pattern->matches(labels_.names()[label]);
    place = is_wanted ? static_cast<int>(labels_found_.size()) : kNotWanted;
    if (is_wanted) labels_found_.push_back({.label = label});
  }
  if (place == kNotWanted) return;
  Labelled& sum = labels_found_[static_cast<std::size_t>(place)];
  ++sum.tubes;
  add_row(sum.row, row);
}

// Adds the least important tube to the sum of the rest.
void TubeChoice::drop_last() {
  std::pop_heap(best_.begin(), best_.end(), std::greater<>());
  TubeRow row = sample_->rows.at(best_.back().index);
  best_.pop_back();
  derive(row);
  add_row(rest_.row, row);
  ++left_out_;
}

void TubeChoice::choose(std::size_t room) {
  while (labels_found_.size() > room) {
    add_row(rest_.row, labels_found_.back().row);
    left_out_ += labels_found_.back().tubes;
    labels_found_.pop_back();
  }
  while (best_.size() > room - labels_found_.size()) drop_last();
  std::sort(best_.begin(), best_.end(), std::greater<>());
  for (const Candidate& each : best_) {
    TubeRow row = sample_->rows.at(each.index);
    derive(row);
    chosen_.push_back({.name = std::string(row.name), .row = row});
  }
  for (const Labelled& each : labels_found_) {
    TubeSum sum{.name = labels_.names()[each.label], .row = each.row, .is_sum = true};
    // Includes counts of deleted tubes.
    if (each.label < counts_.size()) {
      sum.row[TubeField::puts] = counts_[each.label].puts;
      sum.row[TubeField::deletes] = counts_[each.label].deletes;
      sum.row[TubeField::pauses] = counts_[each.label].pauses;
    }
    chosen_.push_back(std::move(sum));
  }
  if (left_out_ > 0) chosen_.push_back(rest_);
}

std::vector<std::size_t> share_room(const std::vector<std::size_t>& wanted, std::size_t room) {
  std::vector<std::size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&wanted](std::size_t a, std::size_t b) { return wanted[a] < wanted[b]; });
  std::vector<std::size_t> shares(wanted.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    shares[order[i]] = std::min(wanted[order[i]], room / (order.size() - i));
    room -= shares[order[i]];
  }
  return shares;
}

}  // namespace haricot::web
