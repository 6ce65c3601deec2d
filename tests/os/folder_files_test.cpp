#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "child_result.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/read/replay.hpp"
#include "os/descriptor.hpp"
#include "os/disk.hpp"
#include "os/folder_files.hpp"
#include "support/eventually.hpp"
#include "support/temporary_folder.hpp"

namespace haricot::os {
namespace {

// Files of an open folder, without a disk around them.

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

// Files of a folder as of one moment, while another thread makes and removes files.

using binlog::DiskStatus;

namespace fs = std::filesystem;

class FolderSnapshotTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(disk_.open(folder_.path())) << disk_.last_error();
    disk_.files().expect_writers();
  }
  void hold() { ASSERT_EQ(disk_.snapshot().take(), DiskStatus::ok) << disk_.last_error(); }
  std::vector<std::string> names() {
    std::vector<std::string> result;
    EXPECT_EQ(disk_.list(result), DiskStatus::ok) << disk_.last_error();
    std::sort(result.begin(), result.end());
    return result;
  }
  std::string read(const std::string& name) {
    binlog::FileBytes bytes;
    EXPECT_EQ(disk_.read(name, bytes), DiskStatus::ok) << disk_.last_error();
    return std::string(bytes.view());
  }
  bool can_read(const std::string& name) {
    binlog::FileBytes bytes;
    return disk_.read(name, bytes) == DiskStatus::ok;
  }

  test::TemporaryFolder folder_;
  FolderDisk disk_;
};

TEST_F(FolderSnapshotTest, StayAsTheyWereUntilTheyAreReleased) {
  for (const char* name : {"binlog.7", "binlog.8", "binlog.10", "binlog.11.tmp", "lock"}) {
    folder_.put(name, std::string("of ") + name);
  }
  hold();
  fs::remove(folder_.file("binlog.7"));
  folder_.put("binlog.10", "of binlog.10, and more");
  folder_.put("binlog.11", "new");
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(names(), (std::vector<std::string>{"binlog.10", "binlog.11.tmp", "binlog.7",
                                                 "binlog.8", "lock"}));
    EXPECT_EQ(read("binlog.7"), "of binlog.7");
    EXPECT_EQ(read("binlog.8"), "of binlog.8");
    EXPECT_EQ(read("binlog.10"), "of binlog.10");
    EXPECT_EQ(read("binlog.11.tmp"), "of binlog.11.tmp");
    EXPECT_FALSE(can_read("binlog.11"));
  }
  disk_.snapshot().release();
  EXPECT_EQ(names(), (std::vector<std::string>{"binlog.10", "binlog.11", "binlog.11.tmp",
                                               "binlog.8", "lock"}));
  EXPECT_FALSE(can_read("binlog.7"));
  EXPECT_EQ(read("binlog.10"), "of binlog.10, and more");
  EXPECT_EQ(read("binlog.11"), "new");
}

// A later note would name files that are not held and seem to be missing.
TEST_F(FolderSnapshotTest, HaveTheNoteOfTheirMoment) {
  FolderLock lock;
  ASSERT_EQ(lock.take(disk_.descriptor()), LockStatus::taken);
  const binlog::FolderNote before{.store_id = 7, .newest = 8, .ids_end = 100};
  const binlog::FolderNote after{.store_id = 7, .newest = 9, .ids_end = 200};
  folder_.put("binlog.8", "eight");
  lock.write_note(before);
  hold();
  folder_.put("binlog.9", "nine");
  lock.write_note(after);
  EXPECT_EQ(disk_.snapshot().note(), before);
  disk_.snapshot().release();
  EXPECT_EQ(disk_.snapshot().note(), after);
}

TEST_F(FolderSnapshotTest, MayBeNoneAndMayBeEmpty) {
  hold();
  folder_.put("binlog.1", "");
  EXPECT_TRUE(names().empty());
  disk_.snapshot().release();
  hold();
  EXPECT_EQ(names(), std::vector<std::string>{"binlog.1"});
  EXPECT_EQ(read("binlog.1"), "");
}

TEST_F(FolderSnapshotTest, AnIrregularFileFailsWhenItIsRead) {
  fs::create_directory(folder_.file("binlog.1"));
  folder_.put("binlog.2", "two");
  fs::create_symlink("binlog.2", folder_.file("binlog.3"));
  hold();
  EXPECT_EQ(names(), (std::vector<std::string>{"binlog.1", "binlog.2", "binlog.3"}));
  EXPECT_FALSE(can_read("binlog.1"));
  EXPECT_EQ(read("binlog.2"), "two");
  EXPECT_FALSE(can_read("binlog.3"));
}

// Makes and removes files like a server: a new file has its number and that of the oldest, then the
// file before it is sealed, then the oldest is removed.
class BusyFolder {
 public:
  static constexpr std::uint64_t kFiles = 4;

  explicit BusyFolder(const test::TemporaryFolder& folder) : folder_(folder) {
    begin(1);
    thread_ = std::thread([this] { run(); });
  }
  ~BusyFolder() {
    stop_ = true;
    thread_.join();
  }
  static std::string name(std::uint64_t number) { return "binlog." + std::to_string(number); }
  // Returns the number of the newest file.
  std::uint64_t newest() const { return newest_; }

 private:
  void run() {
    for (std::uint64_t number = 2; !stop_; ++number) {
      begin(number);
      seal(number - 1);
      if (number > kFiles) fs::remove(folder_.file(name(number - kFiles)));
      newest_ = number;
      // Ten thousand files a second are more than any server begins.
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
  void begin(std::uint64_t number) {
    const std::uint64_t oldest = number < kFiles ? 1 : number - kFiles + 1;
    folder_.put("spare", std::to_string(oldest) + " " + std::to_string(number));
    fs::rename(folder_.file("spare"), folder_.file(name(number)));
  }
  void seal(std::uint64_t number) {
    const Descriptor file(
        ::open(folder_.file(name(number)).c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    EXPECT_EQ(::write(file.get(), " sealed", 7), 7);
  }

  const test::TemporaryFolder& folder_;
  std::atomic<bool> stop_ = false;
  std::atomic<std::uint64_t> newest_ = 1;
  std::thread thread_;
};

// Otherwise a job that moves from the oldest file to a new one would be in neither, and a file
// would seem to be missing.
TEST_F(FolderSnapshotTest, AreThoseOfOneMomentHoweverFastTheyComeAndGo) {
  const BusyFolder busy(folder_);
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t before = busy.newest();
    hold();
    // They are read when the folder has none of them any more.
    ASSERT_TRUE(test::eventually([&] { return busy.newest() > before + 3 * BusyFolder::kFiles; }));
    std::vector<std::uint64_t> numbers;
    for (const std::string& name : names()) {
      if (const auto number = binlog::binlog_file_number(name)) numbers.push_back(*number);
    }
    std::sort(numbers.begin(), numbers.end());
    ASSERT_FALSE(numbers.empty());
    const std::uint64_t newest = numbers.back();
    const std::string bytes = read(BusyFolder::name(newest));
    EXPECT_TRUE(bytes.ends_with(" " + std::to_string(newest))) << bytes;  // It is not sealed.
    const std::uint64_t oldest = std::stoull(bytes);
    EXPECT_LE(numbers.front(), oldest);
    EXPECT_EQ(newest - numbers.front() + 1, numbers.size());
    numbers.pop_back();
    for (const std::uint64_t number : numbers) {
      const std::string other = read(BusyFolder::name(number));
      EXPECT_TRUE(other.ends_with(" " + std::to_string(number) + " sealed")) << other;
    }
    disk_.snapshot().release();
  }
}

TEST_F(FolderSnapshotTest, AreReadByNameWhereDescriptorsAreShort) {
  constexpr int kFiles = 40;
  for (int i = 1; i <= kFiles; ++i) folder_.put("binlog." + std::to_string(i), std::to_string(i));
  const int status = result_in_child([this] {
    const Descriptor next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const rlimit limit{static_cast<rlim_t>(next.get()) + 10, static_cast<rlim_t>(next.get()) + 10};
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 2;
    if (disk_.snapshot().take() != DiskStatus::ok) return 3;
    if (names().size() != kFiles) return 4;
    for (int i = 1; i <= kFiles; ++i) {
      EXPECT_EQ(read("binlog." + std::to_string(i)), std::to_string(i));
    }
    // The newest file is always held by descriptor, because another one would replace it soon.
    fs::remove(folder_.file("binlog." + std::to_string(kFiles)));
    EXPECT_EQ(read("binlog." + std::to_string(kFiles)), std::to_string(kFiles));
    return kGood;
  });
  EXPECT_EQ(status, kGood);
}

}  // namespace
}  // namespace haricot::os
