#include "haricot/queue/long_tasks.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace haricot {
namespace {

// Work that is so many jobs, and has a name.
struct Chore {
  char name = '?';
  std::uint32_t left = 0;
};
using Chores = LongTasks<Chore>;

class LongTasksTest : public ::testing::Test {
 protected:
  void begin(char name, std::uint32_t jobs, Client* client = nullptr, Tube* tube = nullptr) {
    tasks_.make_room();
    tasks_.begin(client, tube).work = {name, jobs};
  }
  // Does so much; what was done, a letter a step, and a capital letter where a task ended.
  std::string work(std::uint32_t budget) {
    std::string steps;
    tasks_.work(
        budget,
        [&](Chores::Task& task, std::uint32_t& piece) {
          const std::uint32_t done = std::min(piece, task.work.left);
          EXPECT_GT(piece, 0U);
          EXPECT_LE(piece, Chores::kJobsPerStep);
          task.work.left -= done;
          piece -= done;
          jobs_done_ += done;
          steps += task.work.name;
          return task.work.left == 0 ? TaskState::done : TaskState::goes_on;
        },
        [&](std::unique_ptr<Chores::Task> task) {
          steps += static_cast<char>(task->work.name - 'a' + 'A');
        });
    return steps;
  }

  static constexpr std::uint32_t kStep = Chores::kJobsPerStep;
  Client client_{nullptr};
  Client other_client_{nullptr};
  Tube tube_;
  Chores tasks_;
  std::uint64_t jobs_done_ = 0;
};

TEST_F(LongTasksTest, TakeTurnsInTheOrderInWhichTheyCame) {
  begin('a', 3 * kStep);
  begin('b', 1);
  begin('c', 2 * kStep);
  EXPECT_EQ(work(2 * kStep + 1), "abBc");
  EXPECT_EQ(jobs_done_, 2 * kStep + 1);
  EXPECT_EQ(work(kStep), "a");
  EXPECT_EQ(work(100 * kStep), "cCaA");
  EXPECT_TRUE(tasks_.empty());
}

TEST_F(LongTasksTest, DoNoMoreThanTheBudget) {
  begin('a', 100 * kStep);
  work(7);
  EXPECT_EQ(jobs_done_, 7U);
  work(0);
  EXPECT_EQ(jobs_done_, 7U);
  work(3 * kStep);
  EXPECT_EQ(jobs_done_, 7U + 3 * kStep);
}

TEST_F(LongTasksTest, ThatNobodyWaitsForTakeHalfOfTheBudget) {
  for (const char name : {'a', 'b', 'c'}) begin(name, 100 * kStep);
  begin('x', 100 * kStep, &client_);
  EXPECT_EQ(tasks_.awaited(), 1U);
  EXPECT_EQ(work(6 * kStep), "abcxxx");
  // What one half leaves goes to the other.
  tasks_.take(client_);
  begin('y', 1, &client_);
  EXPECT_EQ(work(2 * kStep), "ayY");
}

TEST_F(LongTasksTest, LeaveToTheAwaitedWhatTheOthersDoNotNeed) {
  begin('a', 1);
  begin('x', 100 * kStep, &client_);
  EXPECT_EQ(work(4 * kStep + 1), "aAxxxx");
}

TEST_F(LongTasksTest, KeepTheirTube) {
  EXPECT_FALSE(tube_.is_referenced());
  begin('a', kStep, nullptr, &tube_);
  begin('b', 2 * kStep, &client_, &tube_);
  EXPECT_EQ(tube_.tasks, 2U);
  EXPECT_TRUE(tube_.is_referenced());
  work(2 * kStep);
  EXPECT_EQ(tube_.tasks, 1U);
  work(2 * kStep);
  EXPECT_FALSE(tube_.is_referenced());
}

TEST_F(LongTasksTest, AreTakenOutByTheirClient) {
  begin('a', 5, &client_, &tube_);
  begin('b', 5, &other_client_, &tube_);
  begin('c', 5);
  const std::unique_ptr<Chores::Task> taken = tasks_.take(other_client_);
  ASSERT_NE(taken, nullptr);
  EXPECT_EQ(taken->work.name, 'b');
  EXPECT_EQ(tube_.tasks, 1U);
  EXPECT_EQ(tasks_.awaited(), 1U);
  EXPECT_EQ(tasks_.take(other_client_), nullptr);
  std::string names;
  tasks_.for_each([&](const Chores::Task& task) { names += task.work.name; });
  EXPECT_EQ(names, "ac");
}

TEST_F(LongTasksTest, AreForgottenWithTheirList) {
  {
    Chores tasks;
    for (Client* client : {&client_, static_cast<Client*>(nullptr)}) {
      tasks.make_room();
      tasks.begin(client, &tube_).work = {'a', 1};
    }
    tasks.make_room();  // And is not used.
    EXPECT_EQ(tube_.tasks, 2U);
  }
  EXPECT_EQ(tube_.tasks, 0U);
}

}  // namespace
}  // namespace haricot
