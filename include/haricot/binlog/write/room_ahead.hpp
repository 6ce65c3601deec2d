// The room that is kept ahead of the records, and where it comes from: what is left of the file
// that is being written, and spares.
//
// For every job there is room for the record of its deletion, so on a full disk jobs can always be
// deleted; a part more is kept for other changes and for compaction.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "haricot/base/budget.hpp"
#include "haricot/binlog/binlog_state.hpp"
#include "haricot/binlog/write/large_body.hpp"
#include "haricot/binlog/write/record_stream.hpp"
#include "haricot/binlog/write/spares.hpp"
#include "haricot/queue/journal.hpp"

namespace haricot::binlog {

class RoomAhead {
 public:
  // All outlive this. Of the body it knows only what space its file has.
  RoomAhead(BinlogState& state, RecordStream& stream, const LargeBody& body);
  RoomAhead(const RoomAhead&) = delete;
  RoomAhead& operator=(const RoomAhead&) = delete;

  // Whether files are smaller than was asked for, because the disk has no space for many.
  bool has_small_files() const { return file_bytes_ < state_.options.file_bytes; }

  // How much there has to be, in bytes of records -------------------------------------------------

  // Of the next file: what was asked for, or less on a small disk.
  std::uint64_t file_bytes() const { return file_bytes_; }
  // What is promised to the jobs.
  std::uint64_t for_ends_of_jobs() const { return state_.promises.bytes(); }
  // Enough to move all jobs out of the oldest file.
  std::uint64_t for_compaction() const;
  // The same while compaction is under way. Requires: there is a file.
  std::uint64_t to_go_on() const;
  // What other changes than deletions may take when the disk is full.
  std::uint64_t for_updates() const;
  // What a put has to leave.
  std::uint64_t for_puts() const { return for_ends_of_jobs() + for_compaction() + for_updates(); }
  // Where nearly all lives, copying would go round and round for nothing.
  std::uint64_t garbage_worth_collecting() const { return file_bytes_ / 2 + kShortRecordBytes; }
  // What there is.
  std::uint64_t ahead() const { return stream_.writer().room() + spares_.room(); }

  // Of the whole folder, and how many it may have before compaction begins.
  std::uint64_t folder_bytes() const;
  std::uint64_t folder_bytes_allowed() const;

  // Getting it ------------------------------------------------------------------------------------

  // Whether the last try to get more has found the disk full.
  bool is_short() const { return spare_status_ == DiskStatus::full; }
  // Sees to it that the file that is being written takes a record, and that after it there is room
  // for `keep` bytes more. full: there is none to be had. failed: no file can be made, or, where
  // none is open any more, the stream of records has failed. later: a sync that is under way has to
  // end first.
  JournalStatus make_room(std::uint64_t record_bytes, std::uint64_t keep);
  // The same room in spares alone, for a record that has a file of its own.
  JournalStatus make_room_in_spares(std::uint64_t keep);
  // Whether so many files wait for their syncs that there must be no more of them now.
  bool has_to_wait_for_syncs();
  // Opens the first spare, which then takes a record of that size. Requires: there is one.
  bool prepare_spare(std::uint64_t record_bytes);
  // Begins the spare that was prepared. False: the stream of records has failed.
  bool begin_file();
  // Whether there is a spare, if need be a new one.
  bool has_spare_or_makes_one();
  // There may be space again: the disk is asked at once.
  void ask_again() { spare_again_ = state_.now; }
  // Why the last spare could not be had: for the log.
  const std::string& why() const { return spares_.why(); }

  // A put was refused for want of space. `missing`: what it needs besides what is kept for others.
  void count_refused_put(std::uint64_t missing, std::uint64_t record_bytes);
  // Whether there is still no room for it.
  bool is_missing() const { return missing_room_ > 0; }
  // Looks for that room. Producers may have given up, so no put may come that would find it.
  void look_for_space();

  // At the end of a turn: keeps the room that puts ask for, made in time rather than when one needs
  // it, and gives back what is much more than that, as far as the budget goes.
  void tend(const Budget& budget);
  bool is_left_to_tend() const { return is_left_to_tend_; }
  // When the next turn has to come for this.
  Instant next_event() const;

  // At a start: the spare that the first file is made from. False: it could not be had.
  // `is_enough`: it has the room that the jobs need.
  bool make_first_spare(bool& is_enough);
  // At an end: removes the spares; or, on a full disk, takes what is missing and leaves them there.
  // What was taken for deletions must not go to somebody else before the next start, which then can
  // record none.
  void end();
  // Forgets the spares that are not among these names, which are sorted.
  void forget_those_gone(const std::vector<std::string>& names) {
    spares_.forget_those_gone(names);
  }

 private:
  static constexpr std::uint64_t kSmallestFileBytes = 4096;

  void set_size_of_files(std::uint64_t free_bytes);
  std::uint64_t most_to_move() const;
  std::uint64_t for_ends(std::uint64_t live_bytes, std::uint64_t live_jobs) const;
  std::uint64_t room_given_back_by(const Segment& file) const;
  bool add_spare(std::uint64_t bytes, std::uint64_t at_once);
  bool try_sizes(std::uint64_t size, std::uint64_t least, std::uint64_t at_once,
                 std::uint64_t free_bytes);
  bool begin_spare();
  DiskStatus grow_spare(std::uint64_t bytes_max);
  void count_failed_file();
  JournalStatus why_no_spare();
  bool rotate();
  bool has_spare_to_give_back(std::uint64_t wanted) const;
  const Segments& segments() const { return *state_.segments; }

  BinlogState& state_;
  RecordStream& stream_;
  const LargeBody& body_;
  Spares spares_;
  std::uint64_t file_bytes_;
  DiskStatus spare_status_ = DiskStatus::ok;  // Of the last try to make one.
  Instant spare_again_;
  Instant spare_ahead_again_;
  bool is_short_for_no_reason_ = false;  // The disk was full, and had said that there was space.
  bool is_left_to_tend_ = false;
  // The room that a refused put lacks, beyond what other puts need; 0: none was refused since there
  // was room for all.
  std::uint64_t missing_room_ = 0;
  std::uint64_t missing_record_ = 0;  // The bytes of the record of that put.
  Instant look_again_;                // For the space that it lacks.
};

}  // namespace haricot::binlog
