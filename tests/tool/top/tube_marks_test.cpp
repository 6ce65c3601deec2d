#include "tool/top/tube_marks.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace haricot::tool {
namespace {

using Marks = std::vector<Mark>;

TubeStats waiting_jobs(const std::string& name, std::uint64_t watching) {
  TubeStats tube;
  tube.name = name;
  tube.ready = 1;
  tube.watching = watching;
  return tube;
}

TEST(TubeMarks, RowsStandInTheOrderOfTheMarks) {
  for (std::size_t i = 0; i < kMarks.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(kMarks[i].mark), i);
  }
}

TEST(TubeMarks, JobsWithoutAWorkerAreMarked) {
  EXPECT_EQ(marks_of(waiting_jobs("mail", 0), {}), Marks{Mark::no_worker});
  EXPECT_EQ(marks_of(waiting_jobs("mail", 1), {}), Marks{});
  // This program watches the tube, too.
  EXPECT_EQ(marks_of(waiting_jobs("default", 1), {}), Marks{Mark::no_worker});
  EXPECT_EQ(marks_of(waiting_jobs("default", 2), {}), Marks{});
}

TEST(TubeMarks, ATubeHasAWorkerIfAJobIsHeldOrNothingIsKnown) {
  TubeStats held = waiting_jobs("mail", 0);
  held.reserved = 1;
  EXPECT_EQ(marks_of(held, {}), Marks{});
  TubeStats unknown = waiting_jobs("mail", 0);
  unknown.watching.reset();
  EXPECT_EQ(marks_of(unknown, {}), Marks{});
  TubeStats empty = waiting_jobs("mail", 0);
  empty.ready = 0;
  EXPECT_EQ(marks_of(empty, {}), Marks{});
}

TEST(TubeMarks, ATubeMayHaveAllMarks) {
  TubeStats tube = waiting_jobs("mail", 0);
  tube.buried = tube.paused_s = 1;
  History history;
  for (std::uint64_t i = 1; i <= 4; ++i) {
    Sample sample;
    tube.ready = i;
    sample.tubes.push_back(tube);
    history.add(sample);
  }
  EXPECT_EQ(marks_of(tube, history),
            (Marks{Mark::no_worker, Mark::buried, Mark::growing, Mark::paused}));
}

}  // namespace
}  // namespace haricot::tool
