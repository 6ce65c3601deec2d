#include "web/metrics/tube_choice.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace haricot::web {
namespace {

class TubeChoiceTest : public ::testing::Test {
 protected:
  TubeChoiceTest() : sample_(std::make_shared<TubeSample>(HashKey{1, 2})) {
    std::string error;
    EXPECT_TRUE(labels_.add("emails-.*=emails", error));
    facts_.labels = {{.puts = 1000, .deletes = 900, .pauses = 2}};
  }

  void add(const std::string& name, std::uint64_t ready, std::uint64_t oldest = 0) {
    TubeRow row;
    row.name = name;
    row[TubeField::ready] = ready;
    row[TubeField::puts] = ready;
    row[TubeField::oldest_ready] = oldest;
    row.label = labels_.label_of(name);
    sample_->rows.add(row);
  }
  // "name ready puts", with a + for a sum.
  std::vector<std::string> choose(const NamePattern* pattern, std::size_t room) {
    facts_.tubes = sample_;
    TubeChoice choice(facts_, labels_);
    while (choice.look_at(1, pattern, room)) {
    }
    std::vector<std::string> all;
    for (const TubeSum& tube : choice.chosen()) {
      all.push_back(tube.name + (tube.is_sum ? "+" : "") + " " +
                    std::to_string(tube.row[TubeField::ready]) + " " +
                    (tube.has_counters ? std::to_string(tube.row[TubeField::puts]) : "-") + " " +
                    std::to_string(tube.row[TubeField::oldest_ready]));
    }
    left_out_ = choice.left_out();
    return all;
  }

  std::shared_ptr<TubeSample> sample_;
  TubeLabels labels_;
  Facts facts_;
  std::uint64_t left_out_ = 0;
};

TEST_F(TubeChoiceTest, TubesWithALabelAreOneSeries) {
  add("default", 1);
  add("emails-1", 2, 50);
  add("emails-2", 3, 20);
  EXPECT_EQ(choose(nullptr, 1000),
            (std::vector<std::string>{"default 1 1 0", "emails+ 5 1000 50"}));
  EXPECT_EQ(left_out_, 0U);
}

TEST_F(TubeChoiceTest, WhatIsTooMuchIsSummedAndCounted) {
  for (int i = 0; i < 10; ++i) add("t" + std::to_string(i), 1, static_cast<std::uint64_t>(i));
  add("emails-1", 5);
  EXPECT_EQ(choose(nullptr, 2), (std::vector<std::string>{"t0 1 1 0", "t1 1 1 1", "*+ 13 - 9"}));
  EXPECT_EQ(left_out_, 9U);
}

TEST_F(TubeChoiceTest, WhatDoesNotMatchIsNotThere) {
  std::string error;
  const auto pattern = NamePattern::make("t.*|emails", error);
  add("t1", 1);
  add("x", 2);
  add("emails-1", 3);
  EXPECT_EQ(choose(pattern.get(), 1000),
            (std::vector<std::string>{"t1 1 1 0", "emails+ 3 1000 0"}));
  const auto other = NamePattern::make("emails-1", error);
  EXPECT_TRUE(choose(other.get(), 1000).empty());
}

}  // namespace
}  // namespace haricot::web
