#include "haricot/binlog/write/large_body.hpp"

#include <gtest/gtest.h>

#include <string>

#include "haricot/base/crc32c.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/format/job_record.hpp"
#include "haricot/binlog/format/record.hpp"
#include "haricot/binlog/write/segment_writer.hpp"
#include "support/blob_of.hpp"
#include "support/sim_disk.hpp"

namespace haricot::binlog {
namespace {

using State = LargeBody::State;

constexpr std::uint64_t kTinySlice = 100;
constexpr std::size_t kName = 7;
const std::string kFile = spare_name(LargeBody::kNumber);

std::string text_of(std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>('a' + i % 23);
  return text;
}

class LargeBodyTest : public ::testing::Test {
 protected:
  void begin(std::size_t bytes, std::uint64_t file_bytes = 0) {
    text_ = text_of(bytes);
    blob_ = test::blob_of(text_);
    ASSERT_EQ(large_.begin(blob_, kName, file_bytes), DiskStatus::ok);
  }
  // Writes and truncates until that state, for at most that many steps. Returns the number of
  // steps.
  int advance(State until, int steps_max = 1000) {
    int steps = 0;
    while (large_.state() != until && steps < steps_max) {
      (void)large_.advance();
      SyncLine::Ended ended;
      while (syncs_.next_ended(ended)) {
      }
      ++steps;
    }
    return steps;
  }
  std::string written() const {
    return disk_.bytes_of(kFile).substr(kFirstRecordOffset + header_bytes(kName), text_.size() + 2);
  }

  SimDisk disk_;
  SyncLine syncs_{disk_};
  LargeBody large_{disk_, syncs_, kTinySlice, true};
  std::string text_;
  BlobRef blob_;
};

TEST_F(LargeBodyTest, IsWrittenSliceBySliceWithItsSum) {
  for (const std::size_t bytes : {1U, 99U, 100U, 101U, 1000U, 12345U}) {
    begin(bytes);
    EXPECT_EQ(large_.state(), State::writing);
    std::uint64_t done = 0;
    while (large_.state() == State::writing) {
      ASSERT_TRUE(large_.has_work());
      const std::uint64_t before = disk_.bytes_written();
      done += large_.advance();
      ASSERT_LE(disk_.bytes_written() - before, kTinySlice + 2);
      SyncLine::Ended ended;
      while (syncs_.next_ended(ended)) {
      }
    }
    EXPECT_EQ(large_.state(), State::whole);
    EXPECT_EQ(done, bytes);
    EXPECT_EQ(written(), text_ + "\r\n");
    EXPECT_EQ(large_.sum(), crc32c(0, text_));
    EXPECT_FALSE(large_.has_work());
    large_.drop();
    advance(State::none);
    EXPECT_FALSE(disk_.has(kFile));
  }
}

TEST_F(LargeBodyTest, TakesTheSpaceOfAFileIfPossible) {
  constexpr std::uint64_t kNote = note_record_bytes(JobStore::kNoteBytesMax);
  begin(500, 2048 + kNote);
  advance(State::whole);
  EXPECT_EQ(large_.allocated(), 2048 + kNote);
  EXPECT_EQ(disk_.bytes_of(kFile).size(), 2048 + kNote);
  large_.drop();
  advance(State::none);
  begin(500, 1 << 30);
  advance(State::whole);
  EXPECT_LE(large_.allocated(), 500 + kNote + 2 * 16 * kTinySlice);
  large_.drop();
  advance(State::none);
  disk_.set_capacity(2000 + kNote);
  begin(500, 4096 + kNote);
  advance(State::whole);
  EXPECT_EQ(large_.state(), State::whole);
  EXPECT_LE(large_.allocated(), 2000 + kNote);
  EXPECT_GE(large_.allocated(),
            kFirstRecordOffset + header_bytes(kName) + 502 + kNote + SegmentWriter::kEndBytes);
}

TEST_F(LargeBodyTest, WaitsForTheDiskAfterSomeSlices) {
  disk_.set_sync_mode(SyncMode::when_told);
  begin(100 * kTinySlice);
  advance(State::whole);
  EXPECT_EQ(large_.state(), State::writing);
  EXPECT_FALSE(large_.has_work());
  const std::uint64_t at_once = disk_.bytes_written();
  EXPECT_LE(at_once, 2 * LargeBody::kSlicesPerSync * kTinySlice);
  EXPECT_EQ(disk_.syncs_under_way(), 1U);
  disk_.complete_syncs();
  advance(State::whole);
  EXPECT_GT(disk_.bytes_written(), at_once);
  EXPECT_LE(disk_.bytes_written(), at_once + LargeBody::kSlicesPerSync * kTinySlice);
  for (int i = 0; i < 100 && large_.state() != State::whole; ++i) {
    disk_.complete_syncs();
    advance(State::whole);
  }
  EXPECT_EQ(written(), text_ + "\r\n");
}

TEST_F(LargeBodyTest, DoesNotWaitWithoutSyncs) {
  LargeBody large(disk_, syncs_, kTinySlice, false);
  const BlobRef blob = test::blob_of(text_of(100 * kTinySlice));
  ASSERT_EQ(large.begin(blob, kName, 0), DiskStatus::ok);
  while (large.has_work()) (void)large.advance();
  EXPECT_EQ(large.state(), State::whole);
  EXPECT_EQ(disk_.calls(DiskCall::start_sync), 0U);
  large.drop();
  while (large.has_work()) (void)large.advance();
}

TEST_F(LargeBodyTest, IsTruncatedPieceByPieceDuringASync) {
  disk_.set_sync_mode(SyncMode::when_told);
  begin(60 * kTinySlice);
  advance(State::whole);  // As far as possible.
  ASSERT_EQ(disk_.syncs_under_way(), 1U);
  large_.drop();
  EXPECT_EQ(large_.state(), State::leaving);
  EXPECT_GT(advance(State::none), 2);
  EXPECT_FALSE(disk_.has(kFile));
  EXPECT_EQ(disk_.open_files(), 1U);  // Until the sync has ended.
  disk_.complete_syncs();
  advance(State::none);
  SyncLine::Ended ended;
  while (syncs_.next_ended(ended)) {
  }
  EXPECT_EQ(disk_.open_files(), 0U);
}

TEST_F(LargeBodyTest, KnowsItsBodyAndItsOwners) {
  begin(500);
  const BlobRef same_text = test::blob_of(text_);
  EXPECT_TRUE(large_.is_for(blob_, kName));
  EXPECT_FALSE(large_.is_for(blob_, kName + 1));
  EXPECT_FALSE(large_.is_for(same_text, kName));
  EXPECT_FALSE(large_.is_for({}, kName));
  EXPECT_TRUE(large_.is_needed());
  blob_ = {};
  EXPECT_FALSE(large_.is_needed());
}

TEST_F(LargeBodyTest, ReportsItsFailure) {
  for (const DiskCall call : {DiskCall::create, DiskCall::allocate, DiskCall::write}) {
    for (const DiskStatus status : {DiskStatus::full, DiskStatus::failed}) {
      disk_.inject({.nth = 1, .call = call, .status = status});
      blob_ = test::blob_of(text_of(500));
      const DiskStatus begun = large_.begin(blob_, kName, 0);
      if (call == DiskCall::create) {
        EXPECT_EQ(begun, status);
        EXPECT_EQ(large_.state(), State::none);
      } else {
        EXPECT_EQ(begun, DiskStatus::ok);
        advance(State::failed);
        EXPECT_EQ(large_.status(), status);
        large_.drop();
        advance(State::none);
      }
      EXPECT_EQ(large_.why(), "injected fault");
      EXPECT_FALSE(disk_.has(kFile));
      EXPECT_EQ(disk_.open_files(), 0U);
      disk_.clear_faults();
    }
  }
}

}  // namespace
}  // namespace haricot::binlog
