// Files of an open folder, without a disk around them.

#include "os/folder_files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "os/file_calls.hpp"
#include "support/temporary_folder.hpp"

namespace haricot::os {
namespace {

using binlog::DiskStatus;

class FolderFilesTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(files_.open(folder_.path())) << files_.last_error(); }
  std::string read(const std::string& name) {
    binlog::FileBytes bytes;
    EXPECT_EQ(files_.read(name, bytes), DiskStatus::ok) << files_.last_error();
    return std::string(bytes.view());
  }

  test::TemporaryFolder folder_;
  FolderFiles files_;
};

TEST_F(FolderFilesTest, ListsAndReadsFilesWholeAndByTheirEnds) {
  const std::string large(3000, 'x');
  folder_.put("binlog.1", "a" + large + "z");
  folder_.put("other", "");
  std::vector<std::string> names;
  ASSERT_EQ(files_.list(names), DiskStatus::ok);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"binlog.1", "other"}));
  EXPECT_EQ(read("binlog.1"), "a" + large + "z");
  EXPECT_EQ(read("other"), "");
  files_.expect_writers();
  EXPECT_EQ(read("binlog.1"), "a" + large + "z") << "piece by piece";
  binlog::FileEnds ends;
  ASSERT_EQ(files_.read_ends("binlog.1", ends), DiskStatus::ok);
  EXPECT_EQ(ends.file_bytes, 3002U);
  EXPECT_EQ(ends.front, "a" + std::string(binlog::FileEnds::kBytesMax - 1, 'x'));
  EXPECT_EQ(ends.back, std::string(binlog::FileEnds::kBytesMax - 1, 'x') + "z");
}

TEST_F(FolderFilesTest, KeepsTheReasonOfTheLastFailure) {
  binlog::FileBytes bytes;
  EXPECT_EQ(files_.read("binlog.7", bytes), DiskStatus::missing);
  EXPECT_EQ(files_.last_error(), "cannot read binlog.7: No such file or directory");
  EXPECT_EQ(files_.fail(ENOSPC, "write"), DiskStatus::full);
  EXPECT_EQ(files_.last_error(), "cannot write: No space left on device");
  EXPECT_EQ(files_.fail_because("the reason"), DiskStatus::failed);
  EXPECT_EQ(files_.last_error(), "the reason");
}

TEST_F(FolderFilesTest, OpensNeitherTheLockNorANameWithAPath) {
  EXPECT_TRUE(FolderFiles::is_usable("binlog.1"));
  EXPECT_FALSE(FolderFiles::is_usable("lock"));
  EXPECT_FALSE(FolderFiles::is_usable("../binlog.1"));
  EXPECT_FALSE(FolderFiles::is_usable(""));
}

TEST_F(FolderFilesTest, KeepsTheNumberOfItsDescriptorInAnotherFolder) {
  const test::TemporaryFolder other;
  other.put("binlog.2", "two");
  const int before = files_.descriptor();
  const Descriptor folder(::open(other.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(files_.switch_to(folder), DiskStatus::ok);
  EXPECT_EQ(files_.descriptor(), before);
  EXPECT_EQ(read("binlog.2"), "two");
}

TEST_F(FolderFilesTest, TakesASpareDescriptorIfNoneIsLeft) {
  folder_.put("binlog.1", "one");
  files_.set_spare_descriptors(1);
  std::vector<Descriptor> taken;
  while (true) {
    Descriptor one(::dup(files_.descriptor()));
    if (!one) break;
    taken.push_back(std::move(one));
  }
  EXPECT_TRUE(files_.open_file("binlog.1", O_RDONLY | kOpenFlags));
  files_.spares().refill();
  taken.clear();
}

TEST(FolderFiles, OpensNoFolderThatDoesNotExist) {
  const test::TemporaryFolder folder;
  FolderFiles files;
  EXPECT_FALSE(files.open(folder.path() + "/missing"));
  EXPECT_EQ(files.last_error(),
            "cannot open " + folder.path() + "/missing: No such file or directory");
}

}  // namespace
}  // namespace haricot::os
