#include "haricot/queue/watch_weights.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/random.hpp"

namespace haricot {
namespace {

class WatchWeightsTest : public ::testing::Test {
 protected:
  void add(std::uint32_t weight) {
    ASSERT_TRUE(weights_.allocate_one());
    weights_.add();
    weights_.set_weight(weights_.size() - 1, weight);
    offers_.push_back(true);
  }
  // Serves the next of the watches that offer a job.
  std::uint32_t serve() {
    std::uint32_t best = weights_.size();
    for (std::uint32_t i = 0; i < weights_.size(); ++i) {
      if (!offers_[i]) continue;
      if (best == weights_.size() || weights_.pass(i) < weights_.pass(best)) best = i;
    }
    weights_.charge(best);
    return best;
  }
  std::vector<std::uint32_t> serve(std::uint32_t jobs) {
    std::vector<std::uint32_t> served(weights_.size());
    for (std::uint32_t i = 0; i < jobs; ++i) ++served[serve()];
    return served;
  }

  WatchWeights weights_;
  std::vector<bool> offers_;
};

TEST_F(WatchWeightsTest, ShareAnyThousandJobsOutToOneInAHundred) {
  add(4);
  add(2);
  add(1);
  std::vector<std::uint32_t> order;
  for (int i = 0; i < 20'000; ++i) order.push_back(serve());
  for (std::size_t begin = 0; begin + 1000 <= order.size(); begin += 7) {
    std::vector<double> served(3);
    for (std::size_t i = begin; i < begin + 1000; ++i) served[order[i]] += 1;
    EXPECT_NEAR(served[0], 4000.0 / 7, 10);
    EXPECT_NEAR(served[1], 2000.0 / 7, 10);
    EXPECT_NEAR(served[2], 1000.0 / 7, 10);
  }
}

TEST_F(WatchWeightsTest, NoWatchIsEverAheadOrBehindByMoreThanAJobOrTwo) {
  test::Random random(7);
  for (int round = 0; round < 200; ++round) {
    weights_.~WatchWeights();
    new (&weights_) WatchWeights;
    offers_.clear();
    std::uint64_t sum = 0;
    const std::uint64_t watches = 1 + random.below(12);
    for (std::uint64_t i = 0; i < watches; ++i) {
      const auto weight = static_cast<std::uint32_t>(
          1 + random.below(random.one_in(3) ? WatchWeights::kWeightMax : 20));
      add(weight);
      sum += weight;
    }
    std::vector<std::uint64_t> served(watches);
    for (std::uint64_t jobs = 1; jobs <= 3000; ++jobs) {
      ++served[serve()];
      for (std::uint32_t i = 0; i < watches; ++i) {
        const double due =
            static_cast<double>(jobs) * weights_.weight(i) / static_cast<double>(sum);
        ASSERT_NEAR(static_cast<double>(served[i]), due, static_cast<double>(watches))
            << "watch " << i << " of " << watches << " after " << jobs;
      }
    }
  }
}

TEST_F(WatchWeightsTest, AWatchWithoutJobsSavesNothingUp) {
  add(1);
  add(1);
  offers_[1] = false;
  serve(5000);
  offers_[1] = true;
  const std::vector<std::uint32_t> served = serve(100);
  EXPECT_NEAR(served[0], 50, 1);
  EXPECT_NEAR(served[1], 50, 1);
}

TEST_F(WatchWeightsTest, ANewWatchBeginsWithTheOthers) {
  add(1);
  serve(5000);
  add(3);
  const std::vector<std::uint32_t> served = serve(100);
  EXPECT_NEAR(served[0], 25, 1);
  EXPECT_NEAR(served[1], 75, 1);
}

TEST_F(WatchWeightsTest, TheLastWatchTakesThePlaceOfOneThatGoes) {
  add(1);
  add(2);
  add(5);
  weights_.remove(0);
  offers_.pop_back();
  ASSERT_EQ(weights_.size(), 2U);
  EXPECT_EQ(weights_.weight(0), 5U);
  EXPECT_EQ(weights_.weight(1), 2U);
  const std::vector<std::uint32_t> served = serve(700);
  EXPECT_NEAR(served[0], 500, 2);
  EXPECT_NEAR(served[1], 200, 2);
}

// The stride of weight 1 equals a thousand of the others: it must not be used up first.
TEST_F(WatchWeightsTest, ARaisedWeightCountsAtOnce) {
  add(1);
  add(1000);
  serve(1500);
  weights_.set_weight(0, 1000);
  const std::vector<std::uint32_t> served = serve(200);
  EXPECT_NEAR(served[0], 100, 1);
  EXPECT_NEAR(served[1], 100, 1);
}

TEST_F(WatchWeightsTest, ALoweredWeightCountsAtOnce) {
  add(1000);
  add(1000);
  serve(1001);
  weights_.set_weight(0, 1);
  const std::vector<std::uint32_t> served = serve(4004);
  EXPECT_NEAR(served[0], 4, 1);
}

TEST_F(WatchWeightsTest, TheSameWeightAgainChangesNothing) {
  add(3);
  add(1);
  serve(7);
  const std::uint64_t first = weights_.pass(0);
  const std::uint64_t second = weights_.pass(1);
  weights_.set_weight(0, 3);
  weights_.set_weight(1, 1);
  EXPECT_EQ(weights_.pass(0), first);
  EXPECT_EQ(weights_.pass(1), second);
}

TEST_F(WatchWeightsTest, TheSmallestAndTheLargestWeight) {
  add(1);
  add(WatchWeights::kWeightMax);
  const std::vector<std::uint32_t> served = serve(4 * (WatchWeights::kWeightMax + 1));
  EXPECT_NEAR(served[0], 4, 1);
}

}  // namespace
}  // namespace haricot
