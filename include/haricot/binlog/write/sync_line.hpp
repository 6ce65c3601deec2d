// The syncs of the binlog, one after the other.
//
// What is recorded counts as durable only when every sync that was asked for before has succeeded:
// that of the file it is in, of the folder that has to know the file, and of the files before. So
// they stand in a line, and the first one that fails ends it. The removal of a file stands in it,
// too, because it may take as long as a sync.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "haricot/base/time.hpp"
#include "haricot/binlog/disk.hpp"

namespace haricot::binlog {

class SyncLine {
 public:
  // Those that stand in line, under way or not.
  static constexpr std::size_t kLengthMax = 256;

  // The disk outlives this.
  explicit SyncLine(Disk& disk) : disk_(disk) {}
  SyncLine(const SyncLine&) = delete;
  SyncLine& operator=(const SyncLine&) = delete;

  std::size_t length() const { return end_ - begin_; }
  // How many files are open only because they wait here to be closed.
  std::size_t files_to_close() const { return files_to_close_; }

  // What stands in line now, to ask later whether it has ended. Void once the line was abandoned.
  std::uint64_t mark() const { return end_; }
  bool has_passed(std::uint64_t mark) const { return begin_ >= mark; }

  // All require: fewer than kLengthMax stand in line. When the sync ends well, all records up to
  // `covers` are durable; `oldest` is when the first of them was written that no sync before
  // covers.
  void sync_file(FileHandle file, std::uint64_t covers, bool close_after,
                 Instant oldest = Instant::never());
  // O(length()). Of those that have not begun there is one at most: it may stand in front of
  // others.
  void sync_folder();
  // The folder in front of all that have not begun. Returns its mark.
  std::uint64_t sync_folder_first();
  // Removes a file and, if `sync`, then syncs the folder, in front of all that have not begun.
  // Requires: no other removal stands in line.
  void remove_first(const std::string& name, bool sync);
  // Whether a removal was asked for of which the end was not taken out.
  bool has_removal() const { return has_removal_; }
  // Closes the file, now or when no sync of it is under way any more.
  void close(FileHandle file);

  struct Ended {
    DiskStatus status = DiskStatus::ok;  // Of the sync. On anything but ok the line was abandoned.
    std::uint64_t covers = 0;            // 0 for the folder.
    bool is_removal = false;
    DiskStatus removal = DiskStatus::ok;  // Of the removal. The line goes on in any case.
    Instant oldest = Instant::never();    // Of a line that was abandoned: its oldest().
  };
  // Takes out the next one that has ended.
  [[nodiscard]] bool next_ended(Ended& ended);
  // When the first record was written that a sync in line covers; never() if there is none.
  // O(length()).
  Instant oldest() const;
  // Whether a sync in line covers anything. O(length()).
  bool has_sync_of_file() const;
  // Forgets all syncs but closes the files that were to be closed. Nothing of it is taken out any
  // more.
  void abandon();

 private:
  struct Entry {
    FileHandle file = FileHandle::none;  // none: the folder.
    std::uint64_t covers = 0;
    Instant oldest = Instant::never();
    bool close_after = false;
    bool is_forgotten = false;
    bool is_removal = false;
    bool syncs_removal = false;
  };
  Entry& entry(std::uint64_t number) { return entries_[number % entries_.size()]; }
  const Entry& entry(std::uint64_t number) const { return entries_[number % entries_.size()]; }
  void push(const Entry& entry);
  void close_now(FileHandle file);
  void put_first(const Entry& entry);
  void start_some();

  Disk& disk_;
  std::array<Entry, 2 * kLengthMax> entries_;
  // begin_ <= started_ <= end_; those before started_ are under way.
  std::uint64_t begin_ = 0;
  std::uint64_t started_ = 0;
  std::uint64_t end_ = 0;
  std::size_t files_to_close_ = 0;
  std::string to_remove_;
  bool has_removal_ = false;
};

}  // namespace haricot::binlog
