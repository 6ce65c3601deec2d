#include "web/metrics/tube_choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
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
  // Returns texts of the form "name ready puts", with a + for a sum.
  std::vector<std::string> choose(const NamePattern* pattern, std::size_t room) {
    facts_.tubes = sample_;
    TubeChoice choice(facts_, labels_);
    while (choice.read(1, pattern)) {
    }
    choice.choose(std::min(room, choice.wanted()));
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

TEST_F(TubeChoiceTest, OldestJobsComeFirstAndTheRestIsSummedAndCounted) {
  for (int i = 0; i < 10; ++i) add("t" + std::to_string(i), 1, static_cast<std::uint64_t>(i));
  EXPECT_EQ(choose(nullptr, 2), (std::vector<std::string>{"t9 1 1 9", "t8 1 1 8", "*+ 8 - 7"}));
  EXPECT_EQ(left_out_, 8U);
}

TEST_F(TubeChoiceTest, TubesWithoutJobsAreTheFirstToBeLeftOut) {
  for (int i = 0; i < 1200; ++i) add("idle-" + std::to_string(i), 0);
  add("busy", 5);
  TubeRow row;
  row.name = "broken";
  row[TubeField::buried] = 1;
  sample_->rows.add(row);
  const std::vector<std::string> all = choose(nullptr, 1000);
  ASSERT_EQ(all.size(), 1001U);
  EXPECT_EQ(all[0], "busy 5 5 0");
  EXPECT_EQ(all[1], "broken 0 0 0");
  EXPECT_EQ(left_out_, 202U);
}

TEST_F(TubeChoiceTest, SumsShowTheOldestJobThatNoPauseExplains) {
  TubeRow row;
  row[TubeField::ready] = 1;
  const auto add_tube = [&](const char* name, std::uint64_t age, bool is_paused, bool has_worker) {
    row.name = name;
    row[TubeField::oldest_ready] = age;
    row[TubeField::pause] = is_paused ? 100 : 0;
    row[TubeField::pause_left] = row[TubeField::pause];
    row[TubeField::waiting] = has_worker ? 1 : 0;
    row.label = labels_.label_of(name);
    sample_->rows.add(row);
  };
  add_tube("emails-1", 500, true, false);
  add_tube("emails-2", 300, false, true);
  add_tube("emails-3", 200, false, false);
  facts_.tubes = sample_;
  TubeChoice choice(facts_, labels_);
  while (choice.read(1'000, nullptr)) {
  }
  choice.choose(1);
  ASSERT_EQ(choice.chosen().size(), 1U);
  const TubeRow& sum = choice.chosen()[0].row;
  EXPECT_EQ(sum[TubeField::oldest_ready], 500U);
  EXPECT_EQ(sum[TubeField::overdue], 300U);
  EXPECT_EQ(sum[TubeField::unattended], 200U);
}

TEST_F(TubeChoiceTest, JobsBeyondALimitAreNotOverdue) {
  TubeRow row;
  row.name = "some";
  row[TubeField::ready] = 2;
  row[TubeField::oldest_ready] = 500;
  row[TubeField::blocked] = 1;
  row[TubeField::reserved] = 1;
  sample_->rows.add(row);
  row.name = "all";
  row[TubeField::blocked] = 2;
  sample_->rows.add(row);
  facts_.tubes = sample_;
  TubeChoice choice(facts_, labels_);
  while (choice.read(1'000, nullptr)) {
  }
  choice.choose(choice.wanted());
  ASSERT_EQ(choice.chosen().size(), 2U);
  for (const TubeSum& tube : choice.chosen()) {
    EXPECT_EQ(tube.row[TubeField::overdue], tube.name == "some" ? 500U : 0U);
  }
}

TEST(ShareRoom, ServersShareTheRoomThatOthersLeave) {
  using Shares = std::vector<std::size_t>;
  EXPECT_EQ(share_room({1000, 1000}, 1000), (Shares{500, 500}));
  EXPECT_EQ(share_room({1000, 10, 1000}, 1000), (Shares{495, 10, 495}));
  EXPECT_EQ(share_room({5, 3}, 1000), (Shares{5, 3}));
  EXPECT_EQ(share_room({}, 1000), Shares{});
}

TEST_F(TubeChoiceTest, OtherTubesAreLeftOut) {
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
