// The real disk without memory: every call still returns a correct status.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "os/disk.hpp"
#include "support/allocations.hpp"
#include "support/temporary_folder.hpp"

namespace haricot::os {
namespace {

using binlog::DiskStatus;

class DiskMemory : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(disk_.open(folder_.path())) << disk_.last_error(); }

  const test::TemporaryFolder folder_;
  FolderDisk disk_;
};

TEST_F(DiskMemory, AFailureIsReportedEvenWithoutMemoryForItsReason) {
  const std::string name = "a-file-that-is-not-there-with-a-name-that-does-not-fit-into-a-string";
  DiskStatus status = DiskStatus::ok;
  {
    const haricot::test::AllocationFailure failure;
    status = disk_.remove(name);
  }
  EXPECT_EQ(status, DiskStatus::failed);
  EXPECT_EQ(disk_.remove(name), DiskStatus::failed);
  EXPECT_NE(disk_.last_error().find(name), std::string::npos);
}

TEST_F(DiskMemory, AListThatDoesNotFitIsAFailure) {
  for (int i = 0; i < 3; ++i)
    folder_.put("a-file-with-a-rather-long-name-" + std::to_string(i), "");
  std::vector<std::string> names;
  DiskStatus status = DiskStatus::ok;
  {
    const haricot::test::AllocationFailure failure(1);
    status = disk_.list(names);
  }
  EXPECT_EQ(status, DiskStatus::failed);
  EXPECT_EQ(disk_.list(names), DiskStatus::ok);
  EXPECT_EQ(names.size(), 3U);
}

}  // namespace
}  // namespace haricot::os
