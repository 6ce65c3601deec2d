#include "tool/cli/job_line.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace haricot::tool {
namespace {

using Order = std::vector<std::size_t>;

TEST(HeldOrder, JobsThatDoNotWaitForEachOtherKeepTheirOrder) {
  const std::vector<HeldJob> jobs = {{"", "a"}, {"", "b"}, {"c", "a"}, {"", "a"}};
  EXPECT_EQ(held_order(jobs), (Order{0, 1, 2, 3}));
  EXPECT_EQ(held_order({}), Order());
}

// A stage may get jobs after those of the next stage were put.
TEST(HeldOrder, AJobComesAfterAllOfTheGroupThatItWaitsFor) {
  const std::vector<HeldJob> jobs = {
      {"", "report"}, {"report", "load"}, {"load", "fetch"}, {"report", "load"}, {"load", "fetch"}};
  EXPECT_EQ(held_order(jobs), (Order{2, 4, 1, 3, 0}));
}

TEST(HeldOrder, JobsThatWaitForEachOtherComeAllTheSame) {
  const std::vector<HeldJob> jobs = {{"", "b"}, {"a", "b"}, {"b", "a"}, {"", "x"}};
  EXPECT_EQ(held_order(jobs), (Order{3, 0, 1, 2}));
}

TEST(HeldOrder, LongChainsTakeNoSquareOfTheirLength) {
  std::vector<HeldJob> jobs;
  constexpr std::size_t kJobs = 50'000;
  for (std::size_t i = 0; i < kJobs; ++i) {
    jobs.push_back({"s" + std::to_string(i), "s" + std::to_string(i + 1)});
  }
  const Order order = held_order(jobs);
  ASSERT_EQ(order.size(), kJobs);
  EXPECT_EQ(order.front(), kJobs - 1);
  EXPECT_EQ(order.back(), 0U);
}

}  // namespace
}  // namespace haricot::tool
