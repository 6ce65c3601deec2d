// Which tubes of a server become series, and the sums of the others.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "web/observe/facts.hpp"
#include "web/observe/tube_labels.hpp"

namespace haricot::web {

// One series of each metric.
struct TubeSum {
  std::string name;  // Of a tube, or of a label.
  TubeRow row;       // Its name is not used.
  bool is_sum = false;
  bool has_counters = true;  // Sums of tubes that come and go have none.
};

class TubeChoice final {
 public:
  // Requires: `facts` has tubes. Both are borrowed, and outlive it.
  TubeChoice(const Facts& facts, const TubeLabels& labels);

  // Looks at so many tubes more; takes of those whose name matches while `room` is not 0, and
  // counts it down. `pattern` may be null: all match. False: all have been looked at.
  bool look_at(std::size_t tubes, const NamePattern* pattern, std::size_t& room);

  const std::vector<TubeSum>& chosen() const { return chosen_; }
  // How many tubes are in the sum at the end of chosen().
  std::uint64_t left_out() const { return left_out_; }
  bool has_details() const { return sample_->has_details; }
  Instant sampled() const { return sample_->at; }

 private:
  void add_to_label(const TubeRow& row, const NamePattern* pattern, std::size_t& room);
  void finish();

  const TubeLabels& labels_;
  std::shared_ptr<const TubeSample> sample_;
  std::vector<LabelCounts> counts_;
  std::size_t next_ = 0;
  std::vector<TubeSum> chosen_;
  std::vector<int> place_;  // Of a label in chosen_, if it is there.
  TubeSum rest_;
  std::uint64_t left_out_ = 0;
  bool is_finished_ = false;
};

// Adds a row to a sum, field by field: numbers of things are added, ages and times are the largest.
void add_row(TubeRow& sum, const TubeRow& row);

}  // namespace haricot::web
