#include "tool/work/shift.hpp"

#include <gtest/gtest.h>

#include <string>

namespace haricot::tool {
namespace {

class ShiftTest : public testing::Test {
 protected:
  std::string error_;
  WorkPlan plan_;
  Address address_ = *Address::find("unix:/nowhere", error_);
  Shift shift_{plan_, address_, Duration::seconds(10)};
};

TEST_F(ShiftTest, ManyUnreadLinesKeepProgramsFromStarting) {
  EXPECT_FALSE(shift_.is_choked());
  shift_.output.add(std::string(1024 * 1024, 'x'));
  EXPECT_FALSE(shift_.is_choked());
  shift_.say("a line");
  EXPECT_TRUE(shift_.is_choked());
}

TEST_F(ShiftTest, JobsThatAreAskedForCountAsBegun) {
  plan_.count = 3;
  EXPECT_TRUE(shift_.has_ticket());
  shift_.begun = 1;
  shift_.reserving = 1;
  EXPECT_TRUE(shift_.has_ticket());
  shift_.reserving = 2;
  EXPECT_FALSE(shift_.has_ticket());
}

}  // namespace
}  // namespace haricot::tool
