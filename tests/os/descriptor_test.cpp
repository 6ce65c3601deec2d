// A process without a free descriptor, whose binlog continues to work.

#include "os/descriptor.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>
#include <vector>

#include "child_result.hpp"
#include "os/disk.hpp"
#include "os/process.hpp"
#include "support/temporary_folder.hpp"

namespace haricot::os {
namespace {

using binlog::DiskStatus;
using binlog::FileHandle;

// Takes all descriptors, as connections do.
std::vector<Descriptor> take_all() {
  std::vector<Descriptor> all;
  while (true) {
    Descriptor another(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!another) return all;
    all.push_back(std::move(another));
  }
}

void limit_descriptors(rlim_t count) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = count;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(descriptor_limit(), count);
}

std::string name_of(int number) {
  return "binlog." + std::to_string(number);
}

TEST(SpareDescriptors, IsASmallPartOfTheLimit) {
  EXPECT_EQ(SpareDescriptors::share_of(32), 8U);
  EXPECT_EQ(SpareDescriptors::share_of(1024), 32U);
  EXPECT_EQ(SpareDescriptors::share_of(0), 0U);
}

TEST(SpareDescriptors, GivesFilesADescriptorWhenConnectionsGetNone) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(result_in_child([&folder] {
              FolderDisk disk;
              EXPECT_TRUE(disk.open(folder.path()));
              limit_descriptors(40);
              disk.files().set_spare_descriptors(3);
              const std::vector<Descriptor> taken = take_all();
              FileHandle files[4];
              for (int i = 0; i < 3; ++i) {
                EXPECT_EQ(disk.create(name_of(i), files[i]), DiskStatus::ok) << disk.last_error();
              }
              EXPECT_EQ(disk.create(name_of(3), files[3]), DiskStatus::failed);
              EXPECT_EQ(disk.last_error(), "cannot create binlog.3: Too many open files");

              // A descriptor that a file returns is kept for the next one, however often.
              for (int i = 0; i < 50; ++i) {
                disk.close(files[i % 3]);
                EXPECT_TRUE(take_all().empty());
                EXPECT_EQ(disk.create(name_of(i), files[i % 3]), DiskStatus::ok);
              }
              disk.close(files[0]);
              std::vector<std::string> names;
              EXPECT_EQ(disk.list(names), DiskStatus::ok) << disk.last_error();
              binlog::FileBytes bytes;
              EXPECT_EQ(disk.read(name_of(1), bytes), DiskStatus::ok) << disk.last_error();
              return 0;
            }),
            0);
}

TEST(SpareDescriptors, IsFilledUpAgainWhenThereIsSomethingToBeHad) {
  EXPECT_EQ(result_in_child([] {
              limit_descriptors(40);
              std::vector<Descriptor> taken = take_all();
              SpareDescriptors spares;
              spares.fill(0, 4);
              EXPECT_FALSE(spares.release_one());
              taken.resize(taken.size() - 6);
              spares.refill();
              EXPECT_EQ(take_all().size(), 2U);
              const std::vector<Descriptor> rest = take_all();
              for (int i = 0; i < 4; ++i) EXPECT_TRUE(spares.release_one());
              EXPECT_FALSE(spares.release_one());
              EXPECT_EQ(take_all().size(), 4U);
              return 0;
            }),
            0);
}

}  // namespace
}  // namespace haricot::os
