// Chooses the tubes of a server that become series, and sums the others.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "web/observe/name_pattern.hpp"
#include "web/observe/sampler.hpp"

namespace haricot::web {

// One series of each metric.
struct TubeSum {
  std::string name;  // Name of a tube or a label.
  TubeRow row;       // Its name is not used.
  bool is_sum = false;
  bool has_counters = true;  // False for sums of changing sets of tubes.
};

// Keeps the most important tubes and sums the rest, in one pass and with bounded memory.
class TubeChoice final {
 public:
  // Largest number of series.
  static constexpr std::size_t kTubesMax = 1000;

  // Borrows both, which must outlive the object. Requires: `facts` has tubes.
  TubeChoice(const Facts& facts, const TubeLabels& labels);

  // Reads tubes until it has spent the steps; a step is about a nanosecond. Skips tubes that do not
  // match; a null `pattern` matches all. Returns false when all have been read.
  bool read(std::size_t steps, const NamePattern* pattern);
  // Returns the number of series without a limit, at most kTubesMax.
  std::size_t wanted() const { return labels_found_.size() + best_.size(); }
  // Limits the series to `room`, and fills chosen(). Tubes with the oldest waiting or buried jobs
  // come first, tubes without jobs last. Requires: read() has returned false.
  void choose(std::size_t room);

  const std::vector<TubeSum>& chosen() const { return chosen_; }
  // Returns the number of tubes in the sum at the end of chosen().
  std::uint64_t left_out() const { return left_out_; }
  bool has_details() const { return sample_->has_details; }
  Instant sampled() const { return sample_->at; }

 private:
  struct Candidate {
    std::uint64_t rank;
    std::uint32_t index;  // In the sample.
    bool operator>(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : index < other.index;
    }
  };
  // Sum of the tubes with one label.
  struct Labelled {
    std::size_t label;  // From 0 on.
    std::uint64_t tubes = 0;
    TubeRow row = {};
  };

  void add_to_label(const TubeRow& row, const NamePattern* pattern);
  void drop_last();

  const TubeLabels& labels_;
  std::shared_ptr<const TubeSample> sample_;
  std::vector<LabelCounts> counts_;
  std::size_t next_ = 0;
  std::vector<Labelled> labels_found_;
  std::vector<int> place_;       // By label: index in labels_found_, or a reason for its absence.
  std::vector<Candidate> best_;  // A heap with the least important tube in front.
  std::vector<TubeSum> chosen_;
  TubeSum rest_;
  std::uint64_t left_out_ = 0;
};

// Divides `room`: each server gets the series that it wants, or an equal share of the rest.
std::vector<std::size_t> share_room(const std::vector<std::size_t>& wanted, std::size_t room);

// Adds a row to a sum: adds counts, and keeps the largest age or time.
void add_row(TubeRow& sum, const TubeRow& row);

}  // namespace haricot::web
