// The note of the folder in the file of the lock. The lock itself is tested by tests/persistence,
// against real servers.

#include "os/folder_lock.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "os/descriptor.hpp"
#include "support/temporary_folder.hpp"

namespace haricot::os {
namespace {

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
