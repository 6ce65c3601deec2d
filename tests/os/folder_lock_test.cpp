// The note of the folder's id in the file of the lock. The lock itself is tested by
// tests/persistence, against real servers.

#include "os/folder_lock.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "os/descriptor.hpp"
#include "temporary_folder.hpp"

namespace haricot::os {
namespace {

constexpr std::uint64_t kStoreId = 0x0123456789abcdef;

class FolderNote : public ::testing::Test {
 protected:
  FolderNote()
      : descriptor_(::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
        path_(folder_.file("lock")) {}

  // What the next server finds.
  std::uint64_t noted() {
    FolderLock lock;
    EXPECT_EQ(lock.take(descriptor_.get()), LockStatus::taken);
    return lock.store_id();
  }
  void note(std::uint64_t id) {
    FolderLock lock;
    ASSERT_EQ(lock.take(descriptor_.get()), LockStatus::taken);
    lock.note_store_id(id);
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
  note(kStoreId);
  EXPECT_EQ(noted(), kStoreId);
  EXPECT_EQ(FolderLock::store_id_in(descriptor_.get()), kStoreId);
  note(~kStoreId);
  EXPECT_EQ(noted(), ~kStoreId) << "a new one takes its place";
}

TEST_F(FolderNote, ComesBackToWhoHasMadeIt) {
  FolderLock lock;
  ASSERT_EQ(lock.take(descriptor_.get()), LockStatus::taken);
  EXPECT_EQ(lock.store_id(), 0U);
  lock.note_store_id(kStoreId);
  EXPECT_EQ(lock.store_id(), kStoreId);
}

TEST_F(FolderNote, IsNotWrittenAgainWhereItIsThere) {
  note(kStoreId);
  const timespec long_ago[2] = {{.tv_sec = 1000, .tv_nsec = 0}, {.tv_sec = 1000, .tv_nsec = 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path_.c_str(), long_ago, 0), 0);
  note(kStoreId);
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mtim.tv_sec, 1000);
}

TEST_F(FolderNote, OfNoIdIsNotMade) {
  note(0);
  EXPECT_EQ(bytes(), "");
}

TEST_F(FolderNote, IsNoneInTheEmptyLockOfBeanstalkdOrWithoutOne) {
  EXPECT_EQ(FolderLock::store_id_in(descriptor_.get()), 0U);
  EXPECT_EQ(noted(), 0U);
  write("");
  EXPECT_EQ(noted(), 0U);
  EXPECT_EQ(FolderLock::store_id_in(descriptor_.get()), 0U);
}

TEST_F(FolderNote, ThatIsDamagedOrCutCountsAsNone) {
  note(kStoreId);
  const std::string whole = bytes();
  ASSERT_GT(whole.size(), 16U);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = whole;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      write(flipped);
      EXPECT_EQ(noted(), 0U) << "bit " << bit << " of byte " << at;
    }
    write(whole.substr(0, at));
    EXPECT_EQ(noted(), 0U) << "cut at " << at;
  }
  note(kStoreId);
  EXPECT_EQ(noted(), kStoreId) << "the next server makes it whole";
}

}  // namespace
}  // namespace haricot::os
