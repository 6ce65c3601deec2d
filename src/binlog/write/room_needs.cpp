#include "haricot/binlog/write/room_needs.hpp"

#include <algorithm>
#include <cstddef>

#include "haricot/base/check.hpp"
#include "haricot/binlog/write/segment_writer.hpp"
#include "haricot/binlog/write/spares.hpp"

namespace haricot::binlog {
namespace {

// Bounds of the folder: bytes of this many files, or this many times the bytes of the living jobs.
constexpr std::uint64_t kFilesMax = 3;
constexpr std::uint64_t kTimesLiveBytesMax = 3;
// The room ahead is in proportion to a file. So if the folder has no space for this many files of
// the configured size, files are smaller: down to kSmallestShareBytes, which takes any job of the
// default maximum size.
constexpr std::uint64_t kFilesInSpace = 32;
constexpr std::uint64_t kSmallestShareBytes = 128 * 1024;
constexpr std::uint64_t kFilesAtLeast = 8;  // On a disk that is smaller still.

std::uint64_t share_of_one(std::uint64_t live_bytes, std::uint64_t live_jobs) {
  return live_jobs == 0 ? 0 : live_bytes / live_jobs;
}

// Returns the room of spares made of a file's space, at least: one for each whole block.
std::uint64_t room_given_back_by(const Segment& file) {
  return file.bytes / RoomNeeds::kBlockBytes * Spares::room_of(RoomNeeds::kBlockBytes);
}

}  // namespace

void RoomNeeds::set_space(std::uint64_t bytes) {
  const std::uint64_t share = bytes / kFilesInSpace / kBlockBytes * kBlockBytes;
  const std::uint64_t least =
      std::max(std::min(bytes / kFilesAtLeast, kSmallestShareBytes), kBlockBytes);
  // In whole blocks: a part of one would be taken from the disk and give no room.
  const std::uint64_t blocks = (std::max(share, least) + kBlockBytes - 1) / kBlockBytes;
  file_bytes_ = std::min(blocks * kBlockBytes, state_.options.file_bytes);
  static_assert(kBlockBytes > kFirstRecordOffset + SegmentWriter::kEndBytes);
}

std::uint64_t RoomNeeds::folder_bytes_allowed() const {
  return std::max(kFilesMax * state_.options.file_bytes,
                  kTimesLiveBytesMax * segments().live_bytes());
}

// Returns an upper bound of the bytes of a file's living jobs. A job with a file of its own is not
// counted: on a full disk it is not moved.
std::uint64_t RoomNeeds::most_to_move() const {
  if (file_bytes_ == state_.options.file_bytes) return file_bytes_;
  // Files that were begun when there was more space are larger than those that are begun now. There
  // are few of them: otherwise there would be space for a whole file.
  std::uint64_t most = file_bytes_;
  for (std::size_t i = 0; i < segments().size(); ++i) {
    most = std::max(most, segments().at(i).live_bytes);
  }
  return std::min(most, state_.options.file_bytes);
}

// Returns the bytes lost at the end of a file, where a record does not fit: less than its size.
std::uint64_t RoomNeeds::for_ends_of_files(std::uint64_t live_bytes,
                                           std::uint64_t live_jobs) const {
  return std::min(share_of_one(live_bytes, live_jobs), file_bytes_);
}

// Returns the room to move all jobs out of the oldest file, which may be full of them, and the loss
// at the end of the file that is being written, where the next record may not fit.
std::uint64_t RoomNeeds::for_compaction() const {
  const std::uint64_t most = most_to_move();
  return std::min(segments().live_bytes(), most + most / 4) +
         for_ends_of_files(segments().live_bytes(), segments().live_jobs());
}

// Moved jobs have used their room, and files that wait for their removal will return theirs.
std::uint64_t RoomNeeds::to_continue_compaction() const {
  CHECK(!segments().empty());
  const Segment& oldest = segments().oldest();
  const std::uint64_t for_next = for_compaction();
  std::uint64_t given_back = 0;
  std::uint64_t to_move = 0;
  const bool has_begun = segments().size() > 1 && oldest.moved_until != 0;
  if (has_begun && oldest.live_jobs > 0) {
    given_back = room_given_back_by(oldest);
    to_move = oldest.live_bytes + oldest.live_bytes / 4 +
              for_ends_of_files(oldest.live_bytes, oldest.live_jobs);
  }
  for (std::size_t i = 0; i + 1 < segments().size() && segments().at(i).live_jobs == 0; ++i) {
    given_back += room_given_back_by(segments().at(i));
  }
  return std::min(to_move + for_next - std::min(for_next, given_back), for_next);
}

// When this room is used up, changes must have made enough garbage for compaction to collect it and
// return its room.
std::uint64_t RoomNeeds::for_updates() const {
  return garbage_worth_collecting() + file_bytes_ / 4;
}

}  // namespace haricot::binlog
