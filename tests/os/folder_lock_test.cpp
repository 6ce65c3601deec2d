#include "os/folder_lock.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "child_result.hpp"
#include "os/disk.hpp"
#include "support/temporary_folder.hpp"

namespace haricot::os {
namespace {

constexpr int kTaken = 20;
constexpr int kHeldByParent = 21;
constexpr int kElse = 22;
constexpr std::chrono::seconds kDeadline{60};  // For operations that take milliseconds.

Descriptor open_folder(const std::string& path) {
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_TRUE(folder);
  return folder;
}

// Returns the result in another process.
int try_in_child(const Descriptor& folder) {
  return result_in_child([&folder] {
    FolderLock lock;
    const LockStatus status = lock.take(folder.get());
    if (status == LockStatus::taken) return kTaken;
    return status == LockStatus::held && lock.holder() == ::getppid() ? kHeldByParent : kElse;
  });
}

TEST(FolderLock, KeepsOtherProcessesOut) {
  const test::TemporaryFolder temp;
  const Descriptor folder = open_folder(temp.path());
  auto lock = std::make_unique<FolderLock>();
  EXPECT_EQ(lock->take(folder.get()), LockStatus::taken);
  EXPECT_EQ(try_in_child(folder), kHeldByParent);
  EXPECT_EQ(try_in_child(folder), kHeldByParent);  // Reading it did not release it.
  lock.reset();
  EXPECT_EQ(try_in_child(folder), kTaken);
}

TEST(FolderLock, GoesWithTheProcessThatIsKilled) {
  const test::TemporaryFolder temp;
  const Descriptor folder = open_folder(temp.path());
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    FolderLock lock;
    const char taken = lock.take(folder.get()) == LockStatus::taken ? 'y' : 'n';
    if (::write(pipe[1], &taken, 1) == 1) ::pause();
    ::_exit(0);
  }
  char taken = '?';
  ASSERT_EQ(::read(pipe[0], &taken, 1), 1);
  EXPECT_EQ(taken, 'y');
  FolderLock lock;
  EXPECT_EQ(lock.take(folder.get()), LockStatus::held);
  EXPECT_EQ(lock.holder(), child);
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(lock.take(folder.get()), LockStatus::taken);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST(FolderLock, IsNotLostThroughTheDisk) {
  const test::TemporaryFolder temp;
  FolderDisk disk;
  ASSERT_TRUE(disk.open(temp.path()));
  FolderLock lock;
  ASSERT_EQ(lock.take(disk.descriptor()), LockStatus::taken);
  std::vector<std::string> names;
  EXPECT_EQ(disk.list(names), binlog::DiskStatus::ok);
  ASSERT_EQ(names, std::vector<std::string>{"lock"});
  binlog::FileBytes bytes;
  EXPECT_EQ(disk.read("lock", bytes), binlog::DiskStatus::failed);
  EXPECT_EQ(try_in_child(open_folder(temp.path())), kHeldByParent);
}

TEST(FolderLock, ReportsWhyItCannotBeTaken) {
  const test::TemporaryFolder temp;
  std::filesystem::create_directory(temp.file("lock"));
  FolderLock lock;
  EXPECT_EQ(lock.take(open_folder(temp.path()).get()), LockStatus::cannot);
  EXPECT_EQ(lock.error(), "cannot open the file lock: Is a directory");

  const test::TemporaryFolder other;
  other.put("elsewhere", "");
  std::filesystem::create_symlink("elsewhere", other.file("lock"));
  EXPECT_EQ(lock.take(open_folder(other.path()).get()), LockStatus::cannot);
}

TEST(FolderLock, LeavesTheContentOfTheFile) {
  const test::TemporaryFolder temp;
  temp.put("lock", "words");
  const Descriptor folder = open_folder(temp.path());
  FolderLock lock;
  EXPECT_EQ(lock.take(folder.get()), LockStatus::taken);
  EXPECT_EQ(try_in_child(folder), kHeldByParent);
  EXPECT_EQ(temp.bytes_of("lock"), "words");
}

// A beanstalkd on a free port, with its binlog in the folder.
class Beanstalkd {
 public:
  explicit Beanstalkd(const test::TemporaryFolder& folder) {
    std::vector<std::string> words = {"beanstalkd", "-l",          "127.0.0.1", "-p",  "0",
                                      "-b",         folder.path(), "-s",        "4096"};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    if (::posix_spawnp(&pid_, "beanstalkd", nullptr, nullptr, arguments.data(), environ) != 0) {
      pid_ = -1;
    }
  }
  ~Beanstalkd() { end(); }
  Beanstalkd(const Beanstalkd&) = delete;
  Beanstalkd& operator=(const Beanstalkd&) = delete;

  // Returns false if this machine has none.
  bool is_there() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }
  int wait() {
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGTERM);
    wait();
  }

 private:
  pid_t pid_ = -1;
};

TEST(FolderLock, IsHonouredByBeanstalkd) {
  const test::TemporaryFolder temp;
  const Descriptor folder = open_folder(temp.path());
  FolderLock lock;
  ASSERT_EQ(lock.take(folder.get()), LockStatus::taken);
  Beanstalkd beanstalkd(temp);
  if (!beanstalkd.is_there()) GTEST_SKIP() << "there is no beanstalkd here";
  EXPECT_EQ(beanstalkd.wait(), 10);
  EXPECT_FALSE(std::filesystem::exists(temp.file("binlog.1")));
}

TEST(FolderLock, HonoursThatOfBeanstalkd) {
  const test::TemporaryFolder temp;
  const Descriptor folder = open_folder(temp.path());
  Beanstalkd beanstalkd(temp);
  if (!beanstalkd.is_there()) GTEST_SKIP() << "there is no beanstalkd here";
  // It takes the lock before it makes its first file.
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  while (!std::filesystem::exists(temp.file("binlog.1"))) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    ::poll(nullptr, 0, 1);
  }
  FolderLock lock;
  EXPECT_EQ(lock.take(folder.get()), LockStatus::held);
  EXPECT_EQ(lock.holder(), beanstalkd.pid());
  beanstalkd.end();
  EXPECT_EQ(lock.take(folder.get()), LockStatus::taken);
}

}  // namespace
}  // namespace haricot::os
