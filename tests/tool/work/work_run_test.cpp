#include "tool/work/work_run.hpp"

#include <gtest/gtest.h>

#include <string>

namespace haricot::tool {
namespace {

class WorkRunTest : public testing::Test {
 protected:
  std::string error_;
  WorkPlan plan_;
  Address address_ = *Address::find("unix:/nowhere", error_);
  WorkRun work_{plan_, address_, Duration::seconds(10)};
};

TEST_F(WorkRunTest, ManyUnreadLinesKeepProgramsFromStarting) {
  EXPECT_FALSE(work_.is_choked());
  work_.output.add(std::string(1024 * 1024, 'x'));
  EXPECT_FALSE(work_.is_choked());
  work_.say("a line");
  EXPECT_TRUE(work_.is_choked());
}

TEST_F(WorkRunTest, JobsThatAreAskedForCountAsBegun) {
  plan_.count = 3;
  EXPECT_TRUE(work_.has_ticket());
  work_.begun = 1;
  work_.reserving = 1;
  EXPECT_TRUE(work_.has_ticket());
  work_.reserving = 2;
  EXPECT_FALSE(work_.has_ticket());
}

}  // namespace
}  // namespace haricot::tool
