// The room that is kept ahead of the records, and its sources: the rest of the file that is being
// written, and spares.
//
// There is room for the record of each job's deletion, so on a full disk jobs can always be
// deleted; more is kept for other changes and for compaction.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "haricot/base/turn_limits.hpp"
#include "haricot/binlog/binlog_state.hpp"
#include "haricot/binlog/format/record.hpp"
#include "haricot/binlog/segments.hpp"
#include "haricot/binlog/write/large_body.hpp"
#include "haricot/binlog/write/record_stream.hpp"
#include "haricot/binlog/write/spares.hpp"
#include "haricot/queue/journal.hpp"

namespace haricot::binlog {

// Amounts of room that have to be kept, in bytes of records. Most of them are in proportion to the
// size of a file, so files are smaller on a small disk.
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

class RoomAhead {
 public:
  // All outlive this. `body`: only the space of its file is used.
  RoomAhead(BinlogState& state, RecordStream& stream, const LargeBody& body);
  RoomAhead(const RoomAhead&) = delete;
  RoomAhead& operator=(const RoomAhead&) = delete;

  // Returns the amounts of room that are required.
  const RoomNeeds& needs() const { return needs_; }
  // Returns the room that there is.
  std::uint64_t ahead() const { return stream_.writer().room() + spares_.room(); }

  // Returns the size of the whole folder.
  std::uint64_t folder_bytes() const;

  // Getting room ----------------------------------------------------------------------------------

  // Returns true if the last attempt to get more room found the disk full.
  bool is_short() const { return spare_status_ == DiskStatus::full; }
  // Makes sure that the file that is being written takes a record, with room for `keep` bytes after
  // it. full: there is no space. failed: no file can be created, or, if none is open any more, the
  // stream of records has failed. later: a sync that is under way has to end first.
  JournalStatus make_room(std::uint64_t record_bytes, std::uint64_t keep);
  // Makes that room in spares alone, for a record that has a file of its own.
  JournalStatus make_room_in_spares(std::uint64_t keep);
  // Returns true if no more files may wait for their syncs now.
  bool has_to_wait_for_syncs();
  // Opens the first spare, which then takes a record of that size. Requires: there is one.
  bool prepare_spare(std::uint64_t record_bytes);
  // Begins the prepared spare. Returns false if the stream of records has failed.
  bool begin_file() { return begin_file_after(nullptr); }
  // Returns true if there is a spare, or one could be made.
  bool has_spare_or_makes_one();
  // Asks the disk at once, because there may be space again.
  void ask_again() { spare_again_ = state_.now; }
  // Returns the reason why the last spare failed, for the log.
  const std::string& why() const { return spares_.why(); }

  // Counts a put that was refused for lack of space. `missing`: bytes that it needs beside the room
  // kept for others.
  void count_refused_put(std::uint64_t missing, std::uint64_t record_bytes);
  // Returns true if there is still no room for that put.
  bool is_missing() const { return missing_room_ > 0; }
  // Tries to make that room: producers may have given up, so no put may follow.
  void find_missing_room();

  // At the end of a turn: makes the room that puts need ahead of time, and releases an excess,
  // within the budget.
  void tend(const Budget& budget);
  bool is_left_to_tend() const { return is_left_to_tend_; }
  // Returns the time at which the next turn has to begin.
  Instant next_event() const;

  // At a start: makes the spare for the first file. Returns false if that fails. `is_enough`: it
  // has the room that the jobs need.
  bool make_first_spare(bool& is_enough);
  // At the end: removes the spares; on a full disk, allocates missing room instead and keeps them.
  // Space that was taken for deletions must not go to another program before the next start, which
  // could record none.
  void end();
  // Drops the spares that are not among these names, which are sorted.
  void forget_missing_files(const std::vector<std::string>& names) {
    spares_.forget_missing_files(names);
  }

 private:
  void learn_space(std::uint64_t free_bytes);
  bool add_spare(std::uint64_t bytes, std::uint64_t at_once);
  bool try_sizes(std::uint64_t size, std::uint64_t least, std::uint64_t at_once,
                 std::uint64_t free_bytes);
  bool begin_spare();
  DiskStatus grow_spare(std::uint64_t bytes_max);
  void count_failed_file();
  JournalStatus why_no_spare();
  bool rotate();
  bool begin_file_after(const SegmentWriter::Ending* ending);
  bool has_spare_to_give_back(std::uint64_t wanted) const;
  const Segments& segments() const { return *state_.segments; }

  BinlogState& state_;
  RecordStream& stream_;
  const LargeBody& body_;
  RoomNeeds needs_;
  Spares spares_;
  DiskStatus spare_status_ = DiskStatus::ok;  // Result of the last attempt to make one.
  Instant spare_again_;
  Instant spare_ahead_again_;
  bool is_short_for_no_reason_ = false;  // The disk was full although it reported space.
  bool is_left_to_tend_ = false;
  // The room that a refused put lacks, beyond the room for other puts; 0: since the last refusal
  // there was room for all.
  std::uint64_t missing_room_ = 0;
  std::uint64_t missing_record_ = 0;  // Bytes of that put's record.
  Instant search_again_;              // Time of the next search for that room.
};

}  // namespace haricot::binlog
