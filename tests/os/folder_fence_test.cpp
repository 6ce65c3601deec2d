#include "os/folder_fence.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "child_result.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/format/record.hpp"
#include "os/descriptor.hpp"
#include "os/disk.hpp"
#include "os/folder_lock.hpp"
#include "os/syncer.hpp"
#include "support/temporary_folder.hpp"

namespace haricot::os {
namespace {

using binlog::DiskStatus;
using binlog::FileHandle;
using Begun = FolderFence::Begun;
namespace fs = std::filesystem;

constexpr Duration kLong = Duration::seconds(600);
constexpr Duration kShort = Duration::milliseconds(1);
constexpr std::uint64_t kOwner = 0x123456789abcdef0;
constexpr std::chrono::seconds kPatienceOfTest{60};  // For operations that take milliseconds.

// A server's fence in the folder of the test. Two of them are like two machines whose volume has
// lost the first lock: a lock by fcntl excludes nothing within a process.
struct FencedServer {
  explicit FencedServer(const std::string& path, Duration patience = kLong, Duration settle = {})
      : folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
        lock(::openat(folder.get(), "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600)),
        fence(patience, settle) {}

  Begun begin(std::uint64_t owner = kOwner) {
    return fence.begin(folder.get(), lock.get(), owner, {}, error);
  }

  Descriptor folder;
  Descriptor lock;
  FolderFence fence;
  std::string error;
};

class FolderFenceTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return temp_.path() + "/" + name; }
  // Makes a file of the binlog that a server with that epoch began.
  void make_file(std::uint64_t number, std::uint32_t epoch) const {
    binlog::Signature signature;
    signature.file_number = number;
    signature.epoch = epoch;
    signature.run = binlog::run_of_epoch(epoch);
    std::array<char, binlog::kFirstRecordOffset> head{};
    head[0] = binlog::kVersion;
    binlog::write_signature(signature, head.data() + binlog::kVersionBytes);
    std::ofstream(path(binlog::binlog_file_name(number)), std::ios::binary)
        .write(head.data(), head.size());
  }

  test::TemporaryFolder temp_;
};

TEST_F(FolderFenceTest, EachServerHasAHigherEpochThanTheOneBefore) {
  for (const std::uint32_t epoch : {1U, 2U, 3U}) {
    FencedServer server(temp_.path());
    ASSERT_EQ(server.begin(), Begun::yes) << server.error;
    EXPECT_EQ(server.fence.epoch(), epoch);
    EXPECT_TRUE(server.fence.check());
    EXPECT_EQ(fs::file_size(path("epoch")), 4096U);
  }
}

TEST_F(FolderFenceTest, AServerIsFencedAsSoonAsAnotherOneHasBegun) {
  FencedServer first(temp_.path());
  ASSERT_EQ(first.begin(), Begun::yes);
  FencedServer second(temp_.path());
  ASSERT_EQ(second.begin(kOwner + 1), Begun::yes);
  EXPECT_FALSE(first.fence.is_fenced());  // It has not checked yet.
  EXPECT_FALSE(first.fence.check());
  EXPECT_TRUE(first.fence.is_fenced());
  EXPECT_EQ(first.fence.why(),
            "another server has opened the folder: its epoch is 2, and ours is 1");
  EXPECT_TRUE(second.fence.check());
  // Permanently, even after the second server is gone.
  fs::remove(path("epoch"));
  EXPECT_FALSE(first.fence.check());
}

// Both have read the same number before either wrote. The last one has the folder.
TEST_F(FolderFenceTest, TwoServersOfOneEpochAreTwo) {
  FencedServer first(temp_.path());
  ASSERT_EQ(first.begin(), Begun::yes);
  fs::remove(path("epoch"));
  FencedServer second(temp_.path());
  ASSERT_EQ(second.begin(kOwner + 1), Begun::yes);
  EXPECT_EQ(second.fence.epoch(), first.fence.epoch());
  EXPECT_FALSE(first.fence.check());
  EXPECT_TRUE(second.fence.check());
}

TEST_F(FolderFenceTest, TheFilesDetermineTheEpochIfItsFileIsLostOrDamaged) {
  make_file(3, 7);
  make_file(4, 0);
  std::ofstream(path("binlog.5")) << "short";
  FencedServer first(temp_.path());
  ASSERT_EQ(first.begin(), Begun::yes) << first.error;
  EXPECT_EQ(first.fence.epoch(), 8U);
  std::ofstream(path("epoch")) << "haricot epoch";
  FencedServer second(temp_.path());
  ASSERT_EQ(second.begin(), Begun::yes) << second.error;
  EXPECT_EQ(second.fence.epoch(), 8U);
}

TEST_F(FolderFenceTest, AnEpochWithoutARunIsSkipped) {
  make_file(1, binlog::kRunsEnd - 1);
  FencedServer server(temp_.path());
  ASSERT_EQ(server.begin(), Begun::yes) << server.error;
  EXPECT_EQ(server.fence.epoch(), binlog::kRunsEnd + 1);
}

TEST_F(FolderFenceTest, AFolderWithoutFurtherEpochsIsNotOpened) {
  make_file(1, binlog::kEpochLast - 1);
  FencedServer server(temp_.path());
  EXPECT_EQ(server.begin(), Begun::failed);
  EXPECT_NE(server.error.find("no epoch left"), std::string::npos);
  EXPECT_FALSE(fs::exists(path("epoch")));
}

TEST_F(FolderFenceTest, TheHolderOfTheLockFencesTheOther) {
  FencedServer server(temp_.path());
  ASSERT_EQ(server.begin(), Begun::yes);
  struct flock none {};
  none.l_type = F_UNLCK;
  ASSERT_EQ(::fcntl(server.lock.get(), F_SETLK, &none), 0);
  const int result = result_in_child([this, &server] {
    // The child has the lock now, as a server on another machine would.
    struct flock whole {};
    whole.l_type = F_WRLCK;
    if (::fcntl(server.lock.get(), F_SETLK, &whole) != 0) return 2;
    const int inner = result_in_child([&server] { return server.fence.check() ? 3 : kGood; });
    return inner == kGood && fs::exists(path("epoch")) ? kGood : 4;
  });
  EXPECT_EQ(result, kGood);
  EXPECT_TRUE(
      server.fence.check());  // The lock is free again and the epoch unchanged: it is taken again.
}

TEST_F(FolderFenceTest, AFailedCheckIsRetried) {
  FencedServer server(temp_.path());
  ASSERT_EQ(server.begin(), Begun::yes);
  fs::rename(path("epoch"), path("away"));
  std::atomic<bool> has_ended = false;
  std::thread checker([&] {
    EXPECT_TRUE(server.fence.check());
    has_ended = true;
  });
  EXPECT_FALSE(has_ended);
  fs::rename(path("away"), path("epoch"));
  checker.join();
  EXPECT_FALSE(server.fence.is_fenced());
  EXPECT_EQ(server.fence.failure(), "");
  EXPECT_FALSE(server.fence.is_busy());
}

// The start can be ended, and the watchdog notified, while the volume fails.
TEST_F(FolderFenceTest, TheCallerDecidesWhileTheVolumeFails) {
  struct Start {
    std::string epoch;
    int asked_of_failures = 0;
    const FolderFence* fence = nullptr;
  };
  FencedServer server(temp_.path(), kLong, kShort);
  Start start{path("epoch"), 0, &server.fence};
  const auto ask = [](void* context) {
    auto& asked = *static_cast<Start*>(context);
    fs::remove(asked.epoch);
    if (!asked.fence->failure().empty()) ++asked.asked_of_failures;
    return asked.asked_of_failures < 3;
  };
  std::string error;
  EXPECT_EQ(
      server.fence.begin(server.folder.get(), server.lock.get(), kOwner, {ask, &start}, error),
      Begun::stopped);
  EXPECT_EQ(start.asked_of_failures, 3);
  EXPECT_FALSE(server.fence.is_fenced());
}

TEST_F(FolderFenceTest, ACheckThatFailsTooLongIsGivenUp) {
  FencedServer server(temp_.path(), kShort);
  ASSERT_EQ(server.begin(), Begun::yes);
  fs::rename(path("epoch"), path("away"));
  EXPECT_FALSE(server.fence.check());
  EXPECT_EQ(server.fence.why(), "cannot read the file epoch: No such file or directory");
  EXPECT_EQ(server.fence.cause(), FolderFence::Cause::volume);
  fs::rename(path("away"), path("epoch"));
  EXPECT_FALSE(server.fence.check());
}

TEST_F(FolderFenceTest, AnOldCheckIsNotFresh) {
  FencedServer server(temp_.path());
  ASSERT_EQ(server.begin(), Begun::yes);
  const auto end = std::chrono::steady_clock::now() + kPatienceOfTest;
  while (server.fence.is_fresh() && std::chrono::steady_clock::now() < end) ::usleep(10'000);
  EXPECT_FALSE(server.fence.is_fresh());
  // On a busy machine a check may be too old as soon as it has ended.
  bool is_fresh = false;
  for (int i = 0; i < 100 && !is_fresh; ++i)
    is_fresh = server.fence.check() && server.fence.is_fresh();
  EXPECT_TRUE(is_fresh);
}

TEST_F(FolderFenceTest, AVolumeThatStandsStillIsGivenUp) {
  FencedServer server(temp_.path(), kShort);
  ASSERT_EQ(server.begin(), Begun::yes);
  server.fence.fence_if_stuck();
  EXPECT_FALSE(server.fence.is_fenced());  // No work is in progress.
  server.fence.begin_work();
  const auto end = std::chrono::steady_clock::now() + kPatienceOfTest;
  while (!server.fence.is_fenced() && std::chrono::steady_clock::now() < end) {
    server.fence.fence_if_stuck();
  }
  EXPECT_TRUE(server.fence.is_fenced());
  EXPECT_NE(server.fence.why().find("has not answered"), std::string::npos);
  EXPECT_EQ(server.fence.cause(), FolderFence::Cause::volume);
}

// A sync that hangs and a check that fails after it share one patience.
TEST_F(FolderFenceTest, ACheckHasThePatienceThatTheSyncBeforeItHasLeft) {
  FencedServer server(temp_.path(), Duration::seconds(1));
  ASSERT_EQ(server.begin(), Begun::yes);
  server.fence.begin_work();  // The sync.
  ::usleep(1'100'000);
  server.fence.begin_work();  // The check.
  server.fence.fence_if_stuck();
  EXPECT_TRUE(server.fence.is_fenced());
}

// The thread of syncs -----------------------------------------------------------------------------

int sync_well(int /*descriptor*/, bool /*is_folder*/) {
  return 0;
}

TEST_F(FolderFenceTest, ASyncEndsBehindAGoodCheckOnly) {
  FencedServer first(temp_.path());
  ASSERT_EQ(first.begin(), Begun::yes);
  Syncer syncer(&sync_well);
  ASSERT_TRUE(syncer.open());
  syncer.set_fence(first.fence);
  syncer.start(7, false, 1);
  ASSERT_TRUE(syncer.wait(kPatienceOfTest));
  Syncer::Ended ended;
  ASSERT_TRUE(syncer.next_ended(ended));
  EXPECT_EQ(ended.ticket, 1U);
  FencedServer second(temp_.path());
  ASSERT_EQ(second.begin(kOwner + 1), Begun::yes);
  syncer.start(7, false, 2);
  const auto end = std::chrono::steady_clock::now() + kPatienceOfTest;
  while (!first.fence.is_fenced() && std::chrono::steady_clock::now() < end) ::usleep(1000);
  EXPECT_TRUE(first.fence.is_fenced());
  EXPECT_FALSE(syncer.next_ended(ended));
  // Nor does later work.
  syncer.start(7, false, 3);
  EXPECT_TRUE(syncer.check_fence(kPatienceOfTest));
  EXPECT_FALSE(syncer.next_ended(ended));
}

TEST_F(FolderFenceTest, AFencedServerRemovesNothing) {
  std::ofstream(path("binlog.1")) << "of both";
  FencedServer first(temp_.path());
  ASSERT_EQ(first.begin(), Begun::yes);
  FencedServer second(temp_.path());
  ASSERT_EQ(second.begin(kOwner + 1), Begun::yes);
  {
    Syncer syncer(&sync_well);
    ASSERT_TRUE(syncer.open());
    syncer.set_fence(first.fence);
    syncer.start_removal(first.folder.get(), "binlog.1", true, 1);
  }  // The destructor waits for started work.
  EXPECT_TRUE(first.fence.is_fenced());
  EXPECT_TRUE(fs::exists(path("binlog.1")));
}

TEST_F(FolderFenceTest, ACheckCanBeHadWithoutASync) {
  FencedServer server(temp_.path());
  ASSERT_EQ(server.begin(), Begun::yes);
  Syncer syncer(&sync_well);
  ASSERT_TRUE(syncer.open());
  syncer.set_fence(server.fence);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(syncer.check_fence(kPatienceOfTest));
  EXPECT_FALSE(server.fence.is_fenced());
  FencedServer second(temp_.path());
  ASSERT_EQ(second.begin(kOwner + 1), Begun::yes);
  EXPECT_TRUE(syncer.check_fence(kPatienceOfTest));
  EXPECT_TRUE(server.fence.is_fenced());
}

// The folder -----------------------------------------------------------------------------------

class FencedDisk : public FolderFenceTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(disk_.open(temp_.path()));
    ASSERT_EQ(server_.begin(), Begun::yes);
    disk_.set_fence(server_.fence);
    std::ofstream(path("binlog.2")) << "of another server";
    std::ofstream(path("binlog.9.tmp")) << "of another server, too";
  }
  std::string bytes_of(const std::string& name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  FencedServer server_{temp_.path()};
  FolderDisk disk_;
};

TEST_F(FencedDisk, NoFileIsEmptiedByOneThatIsMade) {
  FileHandle file = FileHandle::none;
  EXPECT_EQ(disk_.create("binlog.9.tmp", file), DiskStatus::failed);
  EXPECT_EQ(bytes_of("binlog.9.tmp"), "of another server, too");
  // A spare file says nothing about the owner of the folder.
  EXPECT_FALSE(server_.fence.is_fenced());
  ASSERT_EQ(disk_.create("binlog.8.tmp", file), DiskStatus::ok);
  disk_.close(file);
}

TEST_F(FencedDisk, ATakenNameOfAFileOfTheBinlogFences) {
  FileHandle file = FileHandle::none;
  ASSERT_EQ(disk_.create("binlog.8.tmp", file), DiskStatus::ok);
  disk_.close(file);
  ASSERT_EQ(disk_.rename("binlog.8.tmp", "binlog.3"), DiskStatus::ok);
  EXPECT_FALSE(fs::exists(path("binlog.8.tmp")));
  ASSERT_EQ(disk_.create("binlog.8.tmp", file), DiskStatus::ok);
  disk_.close(file);
  EXPECT_EQ(disk_.rename("binlog.8.tmp", "binlog.2"), DiskStatus::failed);
  EXPECT_EQ(bytes_of("binlog.2"), "of another server");
  EXPECT_TRUE(fs::exists(path("binlog.8.tmp")));
  EXPECT_TRUE(server_.fence.is_fenced());
  EXPECT_EQ(server_.fence.why(), "another server has made the file binlog.2");
  // Neither is a next number tried, nor anything else changed.
  EXPECT_EQ(disk_.rename("binlog.8.tmp", "binlog.4"), DiskStatus::failed);
  EXPECT_EQ(disk_.create("binlog.7.tmp", file), DiskStatus::failed);
  EXPECT_EQ(disk_.remove("binlog.9.tmp"), DiskStatus::failed);
  EXPECT_EQ(disk_.last_error(), "the folder belongs to another server");
  EXPECT_FALSE(fs::exists(path("binlog.4")) || fs::exists(path("binlog.7.tmp")));
  EXPECT_TRUE(fs::exists(path("binlog.9.tmp")));
}

TEST_F(FencedDisk, ATakenNameOfACopyIsAFailureOnly) {
  std::ofstream(path("binlog.1.damaged.1")) << "a copy";
  EXPECT_EQ(disk_.rename("binlog.9.tmp", "binlog.1.damaged.1"), DiskStatus::failed);
  EXPECT_EQ(bytes_of("binlog.1.damaged.1"), "a copy");
  EXPECT_FALSE(server_.fence.is_fenced());
}

}  // namespace
}  // namespace haricot::os
