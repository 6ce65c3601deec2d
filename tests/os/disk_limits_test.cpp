#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "child_result.hpp"
#include "os/disk.hpp"
#include "os/process.hpp"
#include "support/allocations.hpp"
#include "support/temporary_folder.hpp"

namespace haricot::os {
namespace {

// The disk without space, or within limits. Each test runs in a child with a limit, a small file
// system or a missing system call, which affects only that child.

using binlog::DiskStatus;
using binlog::FileHandle;
using binlog::SyncDone;

constexpr int kSkip = 77;  // The test needs rights that are missing.
constexpr std::uint64_t kKibibyte = 1024;

void limit_file_size(std::uint64_t bytes) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  limit.rlim_cur = bytes;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
}

// Mounts such a file system over the folder, for this process only.
bool mount_over(const std::string& path, const char* kind, const char* options) {
  return ::unshare(CLONE_NEWNS) == 0 &&
         ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount(kind, path.c_str(), kind, 0, options) == 0;
}

// Makes the system call fail in this process from now on.
bool forbid(long call, int error) {
  std::array<sock_filter, 4> program = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog filter{program.size(), program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

std::uint64_t free_bytes(const std::string& path) {
  struct statvfs space {};
  EXPECT_EQ(::statvfs(path.c_str(), &space), 0);
  return space.f_bfree * space.f_frsize;
}

DiskStatus write(FolderDisk& disk, FileHandle file, std::uint64_t offset, std::string_view bytes) {
  return disk.write(file, offset, std::vector<std::string_view>{bytes});
}

// A disk with a file of 3 bytes.
struct OpenFile {
  explicit OpenFile(const test::TemporaryFolder& folder) {
    EXPECT_TRUE(disk.open(folder.path())) << disk.last_error();
    EXPECT_EQ(disk.create("binlog.1", file), DiskStatus::ok) << disk.last_error();
    EXPECT_EQ(write(disk, file, 0, "abc"), DiskStatus::ok) << disk.last_error();
  }
  FolderDisk disk;
  FileHandle file = FileHandle::none;
};

void expect_pass_or_skip(int result) {
  if (result == kSkip) GTEST_SKIP() << "this needs privileges that are not there";
  EXPECT_EQ(result, 0);
}

TEST(FolderDiskLimit, OfAFilesSizeIsAFullDisk) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(result_in_child([&folder] {
              survive_file_size_limit();
              OpenFile open(folder);
              limit_file_size(10 * kKibibyte);
              EXPECT_EQ(open.disk.allocate(open.file, 20 * kKibibyte), DiskStatus::full);
              EXPECT_EQ(open.disk.last_error(), "cannot take space: File too large");
              EXPECT_EQ(folder.bytes_of("binlog.1"), "abc");
              const std::string bytes(20 * kKibibyte, 'x');
              EXPECT_EQ(write(open.disk, open.file, 0, bytes), DiskStatus::full);
              // A part was written: the loop continued after the short write.
              EXPECT_EQ(folder.bytes_of("binlog.1"), bytes.substr(0, 10 * kKibibyte));
              limit_file_size(RLIM_INFINITY);
              EXPECT_EQ(open.disk.allocate(open.file, 20 * kKibibyte), DiskStatus::ok);
              EXPECT_EQ(write(open.disk, open.file, 0, bytes), DiskStatus::ok);
              EXPECT_EQ(folder.bytes_of("binlog.1"), bytes);
              return 0;
            }),
            0);
}

TEST(FolderDiskLimit, OfTheDiskIsReportedAndEndsWithFreeSpace) {
  const test::TemporaryFolder folder;
  expect_pass_or_skip(result_in_child([&folder] {
    if (!mount_over(folder.path(), "tmpfs", "size=256k")) return kSkip;
    folder.put("other", std::string(128 * kKibibyte, 'o'));
    OpenFile open(folder);
    const std::uint64_t space = free_bytes(folder.path());
    EXPECT_EQ(open.disk.allocate(open.file, 512 * kKibibyte), DiskStatus::full);
    EXPECT_EQ(open.disk.last_error(), "cannot take space: No space left on device");
    EXPECT_EQ(free_bytes(folder.path()), space);
    EXPECT_EQ(folder.bytes_of("binlog.1"), "abc");

    const std::string bytes(200 * kKibibyte, 'x');
    EXPECT_EQ(write(open.disk, open.file, 0, bytes), DiskStatus::full);
    EXPECT_EQ(open.disk.truncate(open.file, 0), DiskStatus::ok);
    EXPECT_EQ(open.disk.remove("other"), DiskStatus::ok);
    EXPECT_EQ(open.disk.allocate(open.file, bytes.size()), DiskStatus::ok);
    EXPECT_EQ(write(open.disk, open.file, 0, bytes), DiskStatus::ok);
    EXPECT_EQ(folder.bytes_of("binlog.1"), bytes);
    return 0;
  }));
}

TEST(FolderDiskLimit, OfAFileSystemThatCannotGiveSpaceIsMadeUpForByZeros) {
  const test::TemporaryFolder folder;
  expect_pass_or_skip(result_in_child([&folder] {
    if (!mount_over(folder.path(), "tmpfs", "size=16m")) return kSkip;
    if (!forbid(SYS_fallocate, EOPNOTSUPP)) return kSkip;
    OpenFile open(folder);
    const std::uint64_t space = free_bytes(folder.path());
    const std::uint64_t size = (10 << 20) + 12'345;
    EXPECT_EQ(open.disk.allocate(open.file, size), DiskStatus::ok) << open.disk.last_error();
    EXPECT_TRUE(folder.bytes_of("binlog.1") == "abc" + std::string(size - 3, '\0'));
    EXPECT_LE(free_bytes(folder.path()), space - (10 << 20));
    EXPECT_EQ(open.disk.allocate(open.file, 32 << 20), DiskStatus::full);
    EXPECT_EQ(folder.bytes_of("binlog.1").size(), size);
    return 0;
  }));
}

// Like a quota, which cannot be queried in advance.
TEST(FolderDiskLimit, ThatEndsTheZerosGivesThemBack) {
  const test::TemporaryFolder folder;
  expect_pass_or_skip(result_in_child([&folder] {
    if (!forbid(SYS_fallocate, EOPNOTSUPP)) return kSkip;
    survive_file_size_limit();
    OpenFile open(folder);
    limit_file_size(100 * kKibibyte);
    EXPECT_EQ(open.disk.allocate(open.file, 200 * kKibibyte), DiskStatus::full);
    EXPECT_EQ(folder.bytes_of("binlog.1"), "abc");
    EXPECT_EQ(open.disk.allocate(open.file, 100 * kKibibyte), DiskStatus::ok);
    EXPECT_EQ(folder.bytes_of("binlog.1").size(), 100 * kKibibyte);
    return 0;
  }));
}

TEST(FolderDiskLimit, OfTheDiskIsKnownBefore) {
  const test::TemporaryFolder folder;
  expect_pass_or_skip(result_in_child([&folder] {
    if (!mount_over(folder.path(), "tmpfs", "size=256k")) return kSkip;
    OpenFile open(folder);
    binlog::DiskSpace space;
    EXPECT_TRUE(open.disk.space(space));
    EXPECT_EQ(space.total_bytes, 256 * kKibibyte);
    EXPECT_EQ(space.free_bytes, free_bytes(folder.path()));
    EXPECT_EQ(open.disk.allocate(open.file, 100 * kKibibyte), DiskStatus::ok);
    EXPECT_TRUE(open.disk.space(space));
    EXPECT_EQ(space.free_bytes, 156 * kKibibyte);
    return 0;
  }));
}

// ramfs has no fallocate and reports no size.
TEST(FolderDiskLimit, ThatIsUnknownCausesNoRefusal) {
  const test::TemporaryFolder folder;
  expect_pass_or_skip(result_in_child([&folder] {
    if (!mount_over(folder.path(), "ramfs", nullptr)) return kSkip;
    OpenFile open(folder);
    binlog::DiskSpace space;
    EXPECT_FALSE(open.disk.space(space));
    EXPECT_EQ(open.disk.allocate(open.file, 5000), DiskStatus::ok) << open.disk.last_error();
    EXPECT_EQ(folder.bytes_of("binlog.1"), "abc" + std::string(4997, '\0'));
    return 0;
  }));
}

TEST(FolderDiskLimit, OfThreadsMakesAStartedSyncADirectOne) {
  const test::TemporaryFolder folder;
  expect_pass_or_skip(result_in_child([&folder] {
    if (!forbid(SYS_clone3, EAGAIN) || !forbid(SYS_clone, EAGAIN)) return kSkip;
    OpenFile open(folder);
    for (std::uint64_t ticket = 1; ticket <= 100; ++ticket) {
      open.disk.start_sync(open.file, ticket);
      SyncDone done;
      EXPECT_TRUE(open.disk.next_sync_done(done));
      EXPECT_EQ(done.ticket, ticket);
      EXPECT_EQ(done.status, DiskStatus::ok);
      EXPECT_FALSE(open.disk.next_sync_done(done));
    }
    return 0;
  }));
}

// The real disk without memory: every call still returns a correct status.

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
