#include "haricot/binlog/write/segment_writer.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "binlog/sim_disk_steps.hpp"
#include "haricot/binlog/format/job_record.hpp"
#include "haricot/binlog/read/file_scan.hpp"
#include "support/blob_of.hpp"
#include "support/log_maker.hpp"

namespace haricot::binlog {
namespace {

constexpr std::uint64_t kAllocated = 64 * 1024;

class SegmentWriterTest : public ::testing::Test {
 protected:
  DiskStatus begin(std::uint64_t allocated = kAllocated) {
    const FileHandle file = create(disk_, "binlog.5");
    EXPECT_EQ(disk_.allocate(file, allocated), DiskStatus::ok);
    Signature signature;
    signature.salt = salt_of(11, 5);
    signature.file_number = 5;
    signature.store_id = 11;
    return writer_.begin(disk_, file, signature, allocated);
  }
  // Collects a job whose body has no CR LF.
  void add(std::uint64_t id, std::size_t body_bytes) {
    const std::string body(body_bytes, static_cast<char>('a' + id % 26));
    Record record = full_record(id, "tube", {});
    record.body_bytes = static_cast<std::uint32_t>(body_bytes + 2);
    record.body = {};
    ASSERT_TRUE(writer_.prepare(4, body_bytes));
    if (body_bytes > JobStore::kInlineBodyBytesMax) {
      writer_.add(record, {}, test::blob_of(body));
    } else {
      writer_.add(record, body, {});
    }
  }
  void add_change(std::uint64_t id) {
    ASSERT_TRUE(writer_.prepare(0, 0));
    writer_.add(change_record(id, RecordState::buried), {}, {});
  }
  DiskStatus finish(bool is_clean) {
    const DiskStatus status = writer_.flush(disk_);
    if (status != DiskStatus::ok) return status;
    const SegmentWriter::Ending ending = writer_.take_ending(is_clean, 1);
    EXPECT_EQ(ending.end.bytes, writer_.written().bytes);
    const DiskStatus sealed = SegmentWriter::seal(disk_, ending);
    disk_.close(ending.file);
    return sealed;
  }
  // Returns the ids in the file, negative for changes. Checks the end of the file.
  std::vector<std::int64_t> read(bool is_sealed) {
    const std::string bytes = disk_.bytes_of("binlog.5");
    FileScan scan = scan_of(bytes, 5);
    std::vector<std::int64_t> ids;
    while (const auto found = scan.next()) {
      const auto id = static_cast<std::int64_t>(found->record.id);
      EXPECT_FALSE(found->body_is_damaged);
      ids.push_back(found->record.is_full() ? id : -id);
      const char letter = static_cast<char>('a' + id % 26);
      const std::string_view body = found->record.body;
      EXPECT_TRUE(!found->record.is_full() ||
                  body == std::string(body.size() - 2, letter) + "\r\n");
    }
    EXPECT_EQ(scan.kind(), FileKind::checked);
    EXPECT_TRUE(scan.damages().empty());
    EXPECT_EQ(scan.tail().bytes, 0U);
    EXPECT_EQ(scan.seal().has_value(), is_sealed);
    EXPECT_EQ(scan.accepted_bytes(), writer_.written().bytes);
    EXPECT_EQ(scan.records(), writer_.written().records);
    EXPECT_EQ(scan.digest(), writer_.written().digest);
    return ids;
  }
  using Ids = std::vector<std::int64_t>;

  SimDisk disk_;
  SegmentWriter writer_;
};

TEST_F(SegmentWriterTest, WritesRecordsThatAScanReads) {
  ASSERT_EQ(begin(), DiskStatus::ok);
  EXPECT_EQ(read(false), Ids{});
  add(1, 0);
  add(2, 1000);
  add_change(1);
  ASSERT_EQ(writer_.flush(disk_), DiskStatus::ok);
  EXPECT_EQ(read(false), (Ids{1, 2, -1}));
  add(3, 1025);   // A blob that is copied,
  add(4, 4096);   // one that is not,
  add(5, 20000);  // and one more right after it.
  add_change(5);
  add(6, 5);
  ASSERT_EQ(writer_.flush(disk_), DiskStatus::ok);
  EXPECT_EQ(read(false), (Ids{1, 2, -1, 3, 4, 5, -5, 6}));
}

TEST_F(SegmentWriterTest, WritesCollectedRecordsWithOneCall) {
  ASSERT_EQ(begin(), DiskStatus::ok);
  const std::uint64_t before = disk_.calls(DiskCall::write);
  for (std::uint64_t id = 1; id <= 20; ++id) add(id, id * 400);
  EXPECT_EQ(disk_.calls(DiskCall::write), before);
  EXPECT_GT(writer_.collected_bytes(), 20U * 21 * 200);
  ASSERT_EQ(writer_.flush(disk_), DiskStatus::ok);
  EXPECT_EQ(disk_.calls(DiskCall::write), before + 1);
  EXPECT_EQ(writer_.collected_bytes(), 0U);
  ASSERT_EQ(writer_.flush(disk_), DiskStatus::ok);  // There is nothing to write.
  EXPECT_EQ(disk_.calls(DiskCall::write), before + 1);
}

TEST_F(SegmentWriterTest, AlwaysHasRoomForTheSeal) {
  for (std::uint64_t allocated = 4096; allocated < 4096 + 200; ++allocated) {
    ASSERT_EQ(begin(allocated), DiskStatus::ok);
    while (writer_.room() >= kShortRecordBytes) add_change(1);
    ASSERT_EQ(finish(true), DiskStatus::ok);
    EXPECT_LE(disk_.bytes_of("binlog.5").size(), allocated);
  }
}

TEST_F(SegmentWriterTest, SealsAndTruncatesAFile) {
  ASSERT_EQ(begin(), DiskStatus::ok);
  add(1, 10);
  ASSERT_EQ(finish(true), DiskStatus::ok);
  EXPECT_EQ(read(true), Ids{1});
  EXPECT_EQ(disk_.bytes_of("binlog.5").size(), writer_.written().bytes);
  EXPECT_FALSE(writer_.is_open());
}

TEST_F(SegmentWriterTest, RecordsACleanExit) {
  for (const bool is_clean : {true, false}) {
    ASSERT_EQ(begin(), DiskStatus::ok);
    ASSERT_EQ(finish(is_clean), DiskStatus::ok);
    const std::string bytes = disk_.bytes_of("binlog.5");
    FileScan scan = scan_of(bytes, 5);
    EXPECT_FALSE(scan.next());
    ASSERT_TRUE(scan.seal());
    EXPECT_EQ(scan.seal()->clean_exit, is_clean);
    EXPECT_EQ(scan.seal()->store_id, 11U);
    EXPECT_EQ(scan.seal()->oldest_needed, 1U);
  }
}

TEST_F(SegmentWriterTest, CountsOnlyWrittenRecords) {
  ASSERT_EQ(begin(), DiskStatus::ok);
  add(1, 10);
  ASSERT_EQ(writer_.flush(disk_), DiskStatus::ok);
  const WrittenPoint before = writer_.written();
  add(2, 5000);
  disk_.inject({.call = DiskCall::write, .status = DiskStatus::full, .bytes_written = 30});
  EXPECT_EQ(writer_.flush(disk_), DiskStatus::full);
  EXPECT_EQ(writer_.written().bytes, before.bytes);
  EXPECT_EQ(writer_.written().records, 1U);
  const FileHandle file = writer_.abandon();
  EXPECT_FALSE(writer_.is_open());
  EXPECT_EQ(writer_.collected_bytes(), 0U);
  EXPECT_EQ(writer_.room(), 0U);
  disk_.close(file);
}

TEST_F(SegmentWriterTest, WritesZerosOnceForManyRecords) {
  constexpr std::uint64_t kZeroed = SegmentWriter::kZeroedBytes;
  constexpr std::uint64_t kFile = 2 * kZeroed + kZeroed / 2;
  ASSERT_EQ(begin(kFile), DiskStatus::ok);
  std::uint64_t zeros = 0;
  std::uint64_t times = 0;
  std::uint64_t flushes = 0;
  while (writer_.room() > 10'100) {
    add(++flushes, 1000);
    const std::uint64_t bytes_before = disk_.bytes_written();
    const std::uint64_t records = writer_.collected_bytes();
    const std::uint64_t calls_before = disk_.calls(DiskCall::write);
    ASSERT_EQ(writer_.flush(disk_, SegmentWriter::Ahead::zeros), DiskStatus::ok);
    EXPECT_EQ(disk_.calls(DiskCall::write), calls_before + 1);
    const std::uint64_t more = disk_.bytes_written() - bytes_before - records;
    zeros += more;
    times += more > 0 ? 1 : 0;
  }
  EXPECT_EQ(times, 3U) << "in " << flushes << " flushes";
  EXPECT_LE(zeros, kFile);
  EXPECT_GE(zeros, kFile - times * 3'000) << "only what records had taken before is left out";
  const std::string bytes = disk_.bytes_of("binlog.5");
  EXPECT_EQ(bytes.size(), kFile) << "it is not written beyond its space";
  EXPECT_EQ(bytes.find_first_not_of('\0', writer_.written().bytes), std::string::npos);
  EXPECT_EQ(read(false).size(), flushes);
}

TEST_F(SegmentWriterTest, IsUnchangedIfAFileCannotBeBegun) {
  disk_.inject({.call = DiskCall::write});
  EXPECT_EQ(begin(), DiskStatus::failed);
  EXPECT_FALSE(writer_.is_open());
  EXPECT_EQ(begin(), DiskStatus::ok);
}

}  // namespace
}  // namespace haricot::binlog
