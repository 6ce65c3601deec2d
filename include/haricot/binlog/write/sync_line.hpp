// The syncs of the binlog, in order.
//
// A record counts as durable only when every sync requested before has succeeded: that of its file,
// of the folder that has to list the file, and of the files before. So syncs stand in a line, and
// the first failure ends it. Removals of files stand in the line too, because a removal may take as
// long as a sync.

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
  // Maximum number of entries in line, under way or not.
  static constexpr std::size_t kLengthMax = 256;

  // The disk outlives this.
  explicit SyncLine(Disk& disk) : disk_(disk) {}
  SyncLine(const SyncLine&) = delete;
  SyncLine& operator=(const SyncLine&) = delete;

  std::size_t length() const { return end_ - begin_; }
  // Returns the number of files that are open only because they wait here to be closed.
  std::size_t files_to_close() const { return files_to_close_; }

  // Returns a mark of the entries in line, to check later if they have ended. Void after the line
  // was abandoned.
  std::uint64_t mark() const { return end_; }
  bool has_passed(std::uint64_t mark) const { return begin_ >= mark; }

  // All require: fewer than kLengthMax entries in line. When the sync succeeds, all records up to
  // `covers` are durable; `oldest` is the time of the first write among them that no earlier sync
  // covers.
  void sync_file(FileHandle file, std::uint64_t covers, bool close_after,
                 Instant oldest = Instant::never());
  // Requests a sync of the folder. O(length()). At most one that has not begun is in line, and it
  // may move ahead of others.
  void sync_folder();
  // Requests a sync of the folder ahead of all that have not begun. Returns its mark.
  std::uint64_t sync_folder_first();
  // Removes a file and, if `sync`, then syncs the folder, ahead of all that have not begun.
  // Requires: no other removal is in line.
  void remove_first(const std::string& name, bool sync);
  // Returns true if the result of a requested removal has not been taken out yet.
  bool has_removal() const { return has_removal_; }
  // Closes the file now, or when no sync of it is under way any more.
  void close(FileHandle file);

  struct Ended {
    DiskStatus status = DiskStatus::ok;  // Result of the sync. Unless ok, the line was abandoned.
    std::uint64_t covers = 0;            // 0 for the folder.
    bool is_removal = false;
    DiskStatus removal = DiskStatus::ok;  // Result of the removal. The line continues in any case.
    Instant oldest = Instant::never();    // oldest() of a line that was abandoned.
  };
  // Takes out the next result.
  [[nodiscard]] bool next_ended(Ended& ended);
  // Returns the time of the first write that a sync in line covers; never() if there is none.
  // O(length()).
  Instant oldest() const;
  // Returns true if a sync in line covers any record. O(length()).
  bool has_sync_of_file() const;
  // Drops all syncs; still closes the files that were to be closed. No results follow.
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
  // begin_ <= started_ <= end_; entries before started_ are under way.
  std::uint64_t begin_ = 0;
  std::uint64_t started_ = 0;
  std::uint64_t end_ = 0;
  std::size_t files_to_close_ = 0;
  std::string to_remove_;
  bool has_removal_ = false;
};

}  // namespace haricot::binlog
