#include "haricot/queue/long_tasks.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace haricot {
namespace {

// Work of a number of jobs, with a name.
struct Chore {
  char name = '?';
  std::uint32_t left = 0;
};
using Chores = LongTasks<Chore>;

class LongTasksTest : public ::testing::Test {
 protected:
  void begin(char name, std::uint32_t jobs, Client* client = nullptr, Tube* tube = nullptr) {
    tasks_.allocate_task();
    tasks_.begin(client, tube).work = {name, jobs};
  }
  // Works with this budget. Returns a letter for each step, a capital letter at the end of a task.
  std::string work(std::uint32_t budget) {
    std::string steps;
    tasks_.work(
        Budget(jobs_done_, budget),
        [&](Chores::Task& task, const Budget& piece) {
          const auto left = static_cast<std::uint32_t>(piece.left());
          const std::uint32_t done = std::min(left, task.work.left);
          EXPECT_GT(left, 0U);
          EXPECT_LE(left, kStep);
          task.work.left -= done;
          jobs_done_ += done;
          steps += task.work.name;
          if (task.work.left == 0) return TaskState::done;
          return task.work.name == waiting_one_ ? TaskState::waits : TaskState::continues;
        },
        [&](const Chores::Task& task) { steps += static_cast<char>(task.work.name - 'a' + 'A'); });
    return steps;
  }

  std::string names() const {
    std::string names;
    tasks_.for_each([&](const Chores::Task& task) { names += task.work.name; });
    return names;
  }

  static constexpr std::uint32_t kStep = turn_limits::kStepsPerPiece;
  Client client_{nullptr};
  Client other_client_{nullptr};
  Tube tube_;
  Chores tasks_;
  std::uint64_t jobs_done_ = 0;
  char waiting_one_ = 0;  // The task whose steps return `waits`.
};

TEST_F(LongTasksTest, TakeTurnsInTheOrderInWhichTheyCame) {
  begin('a', 3 * kStep);
  begin('b', 1);
  begin('c', 2 * kStep);
  EXPECT_EQ(work(2 * kStep + 1), "abBc");
  EXPECT_EQ(jobs_done_, 2 * kStep + 1);
  EXPECT_EQ(work(kStep), "a");
  EXPECT_EQ(work(100 * kStep), "cCaA");
  EXPECT_EQ(names(), "");
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

TEST_F(LongTasksTest, BackgroundOnesTakeHalfOfTheBudget) {
  for (const char name : {'a', 'b', 'c'}) begin(name, 100 * kStep);
  begin('x', 100 * kStep, &client_);
  EXPECT_EQ(tasks_.awaited(), 1U);
  EXPECT_EQ(work(6 * kStep), "abcxxx");
  // The rest of one half goes to the other.
  tasks_.take(*tasks_.find(client_));
  begin('y', 1, &client_);
  EXPECT_EQ(work(2 * kStep), "ayY");
}

TEST_F(LongTasksTest, LeaveTheUnusedRestToAwaitedOnes) {
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

TEST_F(LongTasksTest, AreFoundByTheirClientAndTakenOut) {
  begin('a', 5, &client_, &tube_);
  begin('b', 5, &other_client_, &tube_);
  begin('c', 5);
  Chores::Task* found = tasks_.find(other_client_);
  ASSERT_NE(found, nullptr);
  const std::unique_ptr<Chores::Task> taken = tasks_.take(*found);
  EXPECT_EQ(taken->work.name, 'b');
  EXPECT_EQ(tube_.tasks, 1U);
  EXPECT_EQ(tasks_.awaited(), 1U);
  EXPECT_EQ(tasks_.find(other_client_), nullptr);
  EXPECT_EQ(names(), "ac");
}

TEST_F(LongTasksTest, ThatWaitArePutAsideUntilAllAreResumed) {
  waiting_one_ = 'a';
  begin('a', 3 * kStep, &client_, &tube_);
  begin('b', 3 * kStep, &other_client_);
  EXPECT_EQ(work(4 * kStep), "abbbB");
  EXPECT_FALSE(tasks_.has_runnable());
  EXPECT_NE(names(), "");
  EXPECT_FALSE(tasks_.has_runnable());
  EXPECT_EQ(names(), "a");
  EXPECT_EQ(tasks_.awaited(), 1U);
  EXPECT_EQ(tube_.tasks, 1U);
  EXPECT_EQ(work(100 * kStep), "");
  waiting_one_ = 0;
  tasks_.resume();
  EXPECT_TRUE(tasks_.has_runnable());
  EXPECT_EQ(work(100 * kStep), "aaA");
  EXPECT_EQ(tube_.tasks, 0U);
}

TEST_F(LongTasksTest, ThatWaitTakeNothingOfTheBudgetOfTheOthers) {
  waiting_one_ = 'x';
  begin('a', 100 * kStep);
  begin('x', 100 * kStep, &client_);
  // The awaited task has half of the call until it waits; then the other has all.
  EXPECT_EQ(work(4 * kStep), "aax");
  EXPECT_EQ(work(4 * kStep), "aaaa");
}

TEST_F(LongTasksTest, ContinueInTheOrderOfTheirSuspension) {
  begin('a', kStep, &client_);
  begin('b', kStep, &other_client_);
  begin('c', kStep);
  tasks_.put_aside(*tasks_.find(other_client_));
  tasks_.put_aside(*tasks_.find(client_));
  EXPECT_EQ(work(100 * kStep), "cC");
  EXPECT_FALSE(tasks_.has_runnable());
  tasks_.resume();
  EXPECT_EQ(work(100 * kStep), "bBaA");
}

TEST_F(LongTasksTest, ThoseOfOneTubeContinueWithoutTheOthers) {
  begin('a', kStep, &client_, &tube_);
  begin('b', kStep, &other_client_);
  tasks_.put_aside(*tasks_.find(client_));
  tasks_.put_aside(*tasks_.find(other_client_));
  tasks_.resume(&tube_);
  EXPECT_EQ(work(100 * kStep), "aA");
  EXPECT_FALSE(tasks_.has_runnable());
  EXPECT_NE(names(), "");
}

TEST_F(LongTasksTest, OneThatHasAnsweredIsNoLongerAwaited) {
  begin('a', 3 * kStep, &client_);
  begin('b', 3 * kStep, &other_client_);
  tasks_.work(
      Budget(jobs_done_, kStep),
      [&](Chores::Task& task, const Budget& piece) {
        jobs_done_ += piece.left();
        tasks_.answered(task);
        return TaskState::continues;
      },
      [](const Chores::Task&) {});
  EXPECT_EQ(tasks_.find(client_), nullptr);
  EXPECT_EQ(tasks_.awaited(), 1U);
  // It is one of those that get half of a call now.
  EXPECT_EQ(work(2 * kStep), "ab");
}

TEST_F(LongTasksTest, ContinueWithoutTheirClient) {
  begin('a', 2 * kStep, &client_, &tube_);
  begin('x', 2 * kStep, &other_client_);
  tasks_.forget_client(*tasks_.find(client_));
  EXPECT_EQ(tasks_.find(client_), nullptr);
  EXPECT_EQ(tasks_.awaited(), 1U);
  EXPECT_EQ(tube_.tasks, 1U);
  // It is one of those that get half of a call now.
  EXPECT_EQ(work(2 * kStep), "ax");
  // A suspended task is not among them until it is resumed.
  tasks_.put_aside(*tasks_.find(other_client_));
  tasks_.forget_client(*tasks_.find(other_client_));
  EXPECT_EQ(tasks_.awaited(), 0U);
  EXPECT_EQ(work(100 * kStep), "aA");
  EXPECT_FALSE(tasks_.has_runnable());
  EXPECT_NE(names(), "");
  tasks_.resume();
  EXPECT_EQ(work(100 * kStep), "xX");
  EXPECT_EQ(names(), "");
  EXPECT_EQ(tube_.tasks, 0U);
}

// Its memory is reused for the next one: a short task needs no allocation.
TEST_F(LongTasksTest, OneContinuesAtOnceAndLeavesItsPlaceToTheNext) {
  tasks_.allocate_task();
  Chores::Task* const first = &tasks_.begin(&client_, &tube_);
  EXPECT_TRUE(first->is_new);
  const auto run = [&](TaskState state) {
    tasks_.run_piece(
        *first, Budget(jobs_done_, kStep), [&](Chores::Task&, const Budget&) { return state; },
        [](const Chores::Task&) {});
  };
  run(TaskState::waits);
  EXPECT_FALSE(first->is_new);
  EXPECT_FALSE(tasks_.has_runnable());
  run(TaskState::continues);
  EXPECT_TRUE(tasks_.has_runnable());
  run(TaskState::done);
  EXPECT_FALSE(tasks_.has_runnable());
  EXPECT_EQ(tube_.tasks, 0U);
  EXPECT_EQ(tasks_.awaited(), 0U);
  const auto other = std::make_unique<Chores::Task>();  // Takes the memory if it was freed.
  tasks_.allocate_task();
  EXPECT_EQ(&tasks_.begin(nullptr, nullptr), first);
  EXPECT_TRUE(first->is_new);
}

TEST_F(LongTasksTest, AreForgottenWithTheirList) {
  {
    Chores tasks;
    for (Client* client : {&client_, static_cast<Client*>(nullptr)}) {
      tasks.allocate_task();
      tasks.begin(client, &tube_).work = {'a', 1};
    }
    tasks.allocate_task();  // And does not use it.
    EXPECT_EQ(tube_.tasks, 2U);
  }
  EXPECT_EQ(tube_.tasks, 0U);
}

}  // namespace
}  // namespace haricot
