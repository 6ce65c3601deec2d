#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "child_result.hpp"
#include "os/descriptor.hpp"
#include "os/disk.hpp"
#include "os/folder_lock.hpp"
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

// The note of the folder in the file of the lock. The lock itself is tested by tests/persistence,
// against real servers.

constexpr binlog::FolderNote kNote{.store_id = 0x0123456789abcdef,
                                   .run = 0xfedcba,
                                   .run_before = 0x12,
                                   .oldest_needed = 3,
                                   .newest = 2147483647,
                                   .end = 0x0123456789ab,
                                   .ids_end = ~0ULL - 1};
// The part that earlier versions read and write.
constexpr binlog::FolderNote kNoteOfRuns{
    .store_id = 0x0123456789abcdef, .run = 0xfedcba, .run_before = 0x12};
constexpr std::size_t kBytesOfRuns = 62;
constexpr binlog::FolderNote kOtherNote{.store_id = ~0ULL, .run = 0xffffff, .run_before = 0};
constexpr binlog::FolderNote kNone;

class FolderNote : public ::testing::Test {
 protected:
  FolderNote()
      : descriptor_(::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
        path_(folder_.file("lock")) {}

  // Returns the note that the next server finds.
  binlog::FolderNote noted() {
    FolderLock lock;
    EXPECT_EQ(lock.take(descriptor_.get()), LockStatus::taken);
    return lock.note();
  }
  void note(const binlog::FolderNote& note) {
    FolderLock lock;
    ASSERT_EQ(lock.take(descriptor_.get()), LockStatus::taken);
    lock.write_note(note);
  }
  std::string bytes() const {
    std::ostringstream text;
    text << std::ifstream(path_, std::ios::binary).rdbuf();
    return text.str();
  }
  void write(const std::string& text) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << text;
  }

  test::TemporaryFolder folder_;
  Descriptor descriptor_;
  std::string path_;
};

TEST_F(FolderNote, ComesBackToTheNextServer) {
  note(kNote);
  EXPECT_EQ(noted(), kNote);
  EXPECT_EQ(FolderLock::note_in(descriptor_.get()), kNote);
  note(kOtherNote);
  EXPECT_EQ(noted(), kOtherNote) << "a new one takes its place";
}

TEST_F(FolderNote, ReturnsToItsAuthor) {
  FolderLock lock;
  ASSERT_EQ(lock.take(descriptor_.get()), LockStatus::taken);
  EXPECT_EQ(lock.note(), kNone);
  lock.write_note(kNote);
  EXPECT_EQ(lock.note(), kNote);
}

TEST_F(FolderNote, IsNoneInTheEmptyLockOfBeanstalkdOrWithoutOne) {
  EXPECT_EQ(FolderLock::note_in(descriptor_.get()), kNone);
  EXPECT_EQ(noted(), kNone);
  write("");
  EXPECT_EQ(noted(), kNone);
  EXPECT_EQ(FolderLock::note_in(descriptor_.get()), kNone);
}

// An earlier version replaces only the first line, and leaves a second one that does not match.
TEST_F(FolderNote, OfAnEarlierVersionIsTheFirstLine) {
  note(kNote);
  const std::string whole = bytes();
  ASSERT_EQ(whole[kBytesOfRuns - 1], '\n');
  EXPECT_TRUE(whole.starts_with("haricot store 0123456789abcdef run 00fedcba 00000012 "));
  write(whole.substr(0, kBytesOfRuns));
  EXPECT_EQ(noted(), kNoteOfRuns);
  note(kOtherNote);
  write(bytes().substr(0, kBytesOfRuns) + whole.substr(kBytesOfRuns));
  EXPECT_EQ(noted(), kOtherNote);
}

TEST_F(FolderNote, ThatIsDamagedOrCutIsNotBelieved) {
  note(kNote);
  const std::string whole = bytes();
  ASSERT_GT(whole.size(), kBytesOfRuns);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = whole;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      write(flipped);
      EXPECT_EQ(noted(), at < kBytesOfRuns ? kNone : kNoteOfRuns)
          << "bit " << bit << " of byte " << at;
    }
    write(whole.substr(0, at));
    EXPECT_EQ(noted(), at < kBytesOfRuns ? kNone : kNoteOfRuns) << "cut at " << at;
  }
  note(kNote);
  EXPECT_EQ(noted(), kNote) << "the next server makes it whole";
}

}  // namespace
}  // namespace haricot::os
