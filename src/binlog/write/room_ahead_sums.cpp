// How much room there has to be ahead of the records.

#include <algorithm>

#include "haricot/base/check.hpp"
#include "haricot/binlog/write/room_ahead.hpp"

namespace haricot::binlog {
namespace {

// The folder may have this many files' bytes, or that many times the bytes of the living jobs.
constexpr std::uint64_t kFilesMax = 3;
constexpr std::uint64_t kTimesLiveBytesMax = 3;

std::uint64_t share_of_one(std::uint64_t live_bytes, std::uint64_t live_jobs) {
  return live_jobs == 0 ? 0 : live_bytes / live_jobs;
}

}  // namespace

std::uint64_t RoomAhead::folder_bytes() const {
  return segments().older_bytes() + stream_.writer().allocated() + spares_.allocated();
}

std::uint64_t RoomAhead::folder_bytes_allowed() const {
  return std::max(kFilesMax * state_.options.file_bytes,
                  kTimesLiveBytesMax * segments().live_bytes());
}

// The living jobs of a file, at most. A job that has a file of its own is not counted: on a full
// disk it stays where it is.
std::uint64_t RoomAhead::most_to_move() const {
  if (file_bytes_ == state_.options.file_bytes) return file_bytes_;
  // Files that were begun when there was more space are larger than those that are begun now. They
  // are few: else there would not be too little space for a whole one.
  std::uint64_t most = file_bytes_;
  for (std::size_t i = 0; i < segments().size(); ++i) {
    most = std::max(most, segments().at(i).live_bytes);
  }
  return std::min(most, state_.options.file_bytes);
}

// A record that does not fit any more leaves the end of a file unused: less than its own size.
std::uint64_t RoomAhead::for_ends(std::uint64_t live_bytes, std::uint64_t live_jobs) const {
  return std::min(share_of_one(live_bytes, live_jobs), file_bytes_);
}

// Enough to move all jobs out of the oldest file, which may be a whole file of them; and what is
// lost at the end of the file that is being written, where the next record may not fit.
std::uint64_t RoomAhead::for_compaction() const {
  const std::uint64_t most = most_to_move();
  return std::min(segments().live_bytes(), most + most / 4) +
         for_ends(segments().live_bytes(), segments().live_jobs());
}

// What spares can be made of the space of a file, at least: as many as it has whole blocks.
std::uint64_t RoomAhead::room_given_back_by(const Segment& file) const {
  return file.bytes / kSmallestFileBytes * Spares::room_of(kSmallestFileBytes);
}

// What has been moved has used its room, and files that wait to be removed are about to give theirs
// back.
std::uint64_t RoomAhead::to_go_on() const {
  CHECK(!segments().empty());
  const Segment& oldest = segments().oldest();
  const std::uint64_t for_next = for_compaction();
  std::uint64_t given_back = 0;
  std::uint64_t to_move = 0;
  const bool has_begun = segments().size() > 1 && oldest.moved_until != 0;
  if (has_begun && oldest.live_jobs > 0) {
    given_back = room_given_back_by(oldest);
    to_move =
        oldest.live_bytes + oldest.live_bytes / 4 + for_ends(oldest.live_bytes, oldest.live_jobs);
  }
  for (std::size_t i = 0; i + 1 < segments().size() && segments().at(i).live_jobs == 0; ++i) {
    given_back += room_given_back_by(segments().at(i));
  }
  return std::min(to_move + for_next - std::min(for_next, given_back), for_next);
}

// By the time that it is used up changes have to have made enough garbage for compaction to find it
// worth its while, and give it back.
std::uint64_t RoomAhead::for_updates() const {
  return garbage_worth_collecting() + file_bytes_ / 4;
}

}  // namespace haricot::binlog
