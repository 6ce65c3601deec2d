// The cost of a command must not depend on the amount of unrelated data. These tests compare the
// CPU time of the same commands with little and with much data, in one run: if a command iterated
// over unrelated data, the factor would be in the thousands, so the bound is generous enough for
// the noisiest machine.

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "haricot/base/check.hpp"
#include "haricot/queue/engine.hpp"
#include "haricot/queue/journal.hpp"

namespace haricot {
namespace {

constexpr double kFactorMax = 20;

class EngineCost : public ::testing::Test {
 protected:
  EngineCost() { CHECK(engine_.open(worker_)); }
  ~EngineCost() override {
    for (const auto& client : others_) engine_.close(*client, now_);
    engine_.close(worker_, now_);
  }

  Client& connect() {
    others_.push_back(std::make_unique<Client>(nullptr));
    CHECK(engine_.open(*others_.back()));
    return *others_.back();
  }

  // Returns the CPU time of some hundred cycles of put, reserve and delete; the best of several
  // tries.
  double cost_of_cycles() {
    double best = 1e9;
    for (int round = 0; round < 5; ++round) {
      const std::clock_t begin = std::clock();
      for (int i = 0; i < 500; ++i) {
        CHECK(engine_.put(worker_, NewJob{engine_.take_id(), 0, 0, 60},
                          NewBody{.bytes = "body", .blob = {}}, now_) == Outcome::done);
        const ReserveResult reserved = engine_.reserve(worker_, now_, now_);
        CHECK(reserved.outcome == Outcome::done);
        CHECK(engine_.delete_job(worker_, engine_.jobs()[reserved.job].id) == Outcome::done);
      }
      best = std::min(best, static_cast<double>(std::clock() - begin));
    }
    return std::max(best, 1.0);
  }

  void expect_same_cost_as(double before) { EXPECT_LT(cost_of_cycles(), kFactorMax * before); }

  Instant now_ = Instant::at(1'000'000'000);
  NoJournal journal_;
  Engine engine_{now_, journal_};
  Client worker_{nullptr};
  std::vector<std::unique_ptr<Client>> others_;
};

TEST_F(EngineCost, OfACommandDoesNotDependOnTheNumberOfTubes) {
  const double before = cost_of_cycles();
  Client& other = connect();
  for (int i = 0; i < 50'000; ++i) {
    ASSERT_EQ(engine_.watch(other, "tube-" + std::to_string(i)), Outcome::done);
  }
  expect_same_cost_as(before);
}

TEST_F(EngineCost, OfACommandDoesNotDependOnTheNumberOfWaitingWorkers) {
  const double before = cost_of_cycles();
  for (int i = 0; i < 5'000; ++i) {
    Client& other = connect();
    ASSERT_EQ(engine_.watch(other, "elsewhere"), Outcome::done);
    ASSERT_EQ(engine_.ignore(other, "default"), Outcome::done);
    ASSERT_EQ(engine_.reserve(other, Instant::never(), now_).outcome, Outcome::waiting);
  }
  expect_same_cost_as(before);
}

TEST_F(EngineCost, OfACommandHardlyDependsOnTheNumberOfJobs) {
  const double before = cost_of_cycles();
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    ASSERT_EQ(engine_.put(worker_, NewJob{engine_.take_id(), 9, i % 2 * 100, 60},
                          NewBody{.bytes = "body", .blob = {}}, now_),
              Outcome::done);
  }
  expect_same_cost_as(before);
}

}  // namespace
}  // namespace haricot
