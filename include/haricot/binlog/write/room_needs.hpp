// Amounts of room that have to be kept ahead of the records, in bytes of records. Sums only; the
// room itself is RoomAhead's.
//
// Most of them are in proportion to the size of a file, so files are smaller on a small disk.

#pragma once

#include <cstdint>

#include "haricot/binlog/binlog_state.hpp"
#include "haricot/binlog/format/record.hpp"
#include "haricot/binlog/segments.hpp"

namespace haricot::binlog {

class RoomNeeds {
 public:
  // Size of which all sizes of files are multiples.
  static constexpr std::uint64_t kBlockBytes = 4096;

  // The state outlives this.
  explicit RoomNeeds(const BinlogState& state)
      : state_(state), file_bytes_(state.options.file_bytes) {}
  RoomNeeds(const RoomNeeds&) = delete;
  RoomNeeds& operator=(const RoomNeeds&) = delete;

  // Returns the size of the next file: the setting, or less on a small disk.
  std::uint64_t file_bytes() const { return file_bytes_; }
  // Returns true if files are smaller than the setting, because the disk has no space for many.
  bool has_small_files() const { return file_bytes_ < state_.options.file_bytes; }
  // Sets the size of files for a disk with that much space: the free bytes and the folder's own.
  void set_space(std::uint64_t bytes);

  // Returns the room promised to the jobs.
  std::uint64_t for_ends_of_jobs() const { return state_.promises.bytes(); }
  // Returns the room to move all jobs out of the oldest file.
  std::uint64_t for_compaction() const;
  // Returns that room while compaction is under way. Requires: there is a file.
  std::uint64_t to_continue_compaction() const;
  // Returns the room that changes except deletions may use when the disk is full.
  std::uint64_t for_updates() const;
  // Returns the room that has to be left after a put.
  std::uint64_t for_puts() const { return for_ends_of_jobs() + for_compaction() + for_updates(); }

  // Returns the least garbage worth a copy: if nearly all jobs live, copying would never end.
  std::uint64_t garbage_worth_collecting() const { return file_bytes_ / 2 + kShortRecordBytes; }
  // Returns the size of the folder at which compaction begins.
  std::uint64_t folder_bytes_allowed() const;

 private:
  const Segments& segments() const { return *state_.segments; }
  std::uint64_t most_to_move() const;
  std::uint64_t for_ends_of_files(std::uint64_t live_bytes, std::uint64_t live_jobs) const;

  const BinlogState& state_;
  std::uint64_t file_bytes_;
};

}  // namespace haricot::binlog
