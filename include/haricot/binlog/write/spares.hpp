// Files that are ready to be begun: created, and with preallocated space.
//
// On a full disk, records go to space that was preallocated, and a file that exists is begun
// without waiting. Spares have a name that no server reads.
//
// A spare has no open descriptor, with two exceptions: the last one while its space is allocated
// step by step, and the first one when it is about to be begun.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/write/segment_writer.hpp"

namespace haricot::binlog {

struct Spare {
  FileHandle file = FileHandle::none;  // none: it is not open.
  std::uint64_t number = 0;  // Number in its name. The file that is made from it has another.
  std::uint64_t allocated = 0;
  std::uint64_t wanted = 0;  // More than `allocated` while it grows.
};

class Spares {
 public:
  // The disk outlives this.
  explicit Spares(Disk& disk) : disk_(disk) {}
  Spares(const Spares&) = delete;
  Spares& operator=(const Spares&) = delete;

  // Sets the first number that no file has had. Spares are named from there on.
  void set_next_number(std::uint64_t number) { next_number_ = number; }

  bool empty() const { return spares_.empty(); }
  std::size_t size() const { return spares_.size(); }
  const Spare& first() const { return spares_.front(); }
  const Spare& last() const { return spares_.back(); }
  // Bytes of records that all spares, or one, can take.
  std::uint64_t room() const { return room_; }
  static std::uint64_t room_of(const Spare& spare) { return room_of(spare.allocated); }
  static std::uint64_t room_of(std::uint64_t allocated) {
    constexpr std::uint64_t kFrameBytes = kFirstRecordOffset + SegmentWriter::kEndBytes;
    return allocated > kFrameBytes ? allocated - kFrameBytes : 0;
  }
  std::uint64_t allocated() const { return allocated_; }

  // Skips the names of files that could not be removed: the disk replaces no file.
  void leave_names_out() { leaves_names_out_ = true; }

  // Creates a spare of that many bytes. Allocates at most `at_once_bytes` of its space; grow_last()
  // allocates the rest. Unless ok, nothing has changed, and why() says why. Requires: none is
  // growing.
  [[nodiscard]] DiskStatus add(std::uint64_t bytes, std::uint64_t at_once_bytes);
  // Returns true if the last spare lacks some of its space.
  bool is_growing() const { return !spares_.empty() && last().allocated < last().wanted; }
  // Allocates at most that many bytes more for the growing spare. Unless ok, its size stays and it
  // stops growing. Requires: one is growing.
  [[nodiscard]] DiskStatus grow_last(std::uint64_t bytes_max);
  // Makes sure that the first spare is open and at least that large: moves a larger one to the
  // front, or enlarges one, which then stops growing. Creates a spare again if its file is gone.
  // Unless ok, none has grown. Requires: there is a spare.
  [[nodiscard]] DiskStatus prepare_first(std::uint64_t bytes);
  // Returns the size of the smallest spare of at least that size; 0 if there is none.
  std::uint64_t least_with_room(std::uint64_t bytes) const;
  // Takes out the first spare; its file belongs to the caller. Requires: it was prepared.
  Spare take_first();
  // Closes and removes a spare that was taken out and could not be begun.
  void discard(const Spare& spare);
  // Removes the last spare, or all.
  void remove_last();
  void remove_all();
  // Drops spares whose file is not among these names, which are sorted.
  void forget_missing_files(const std::vector<std::string>& names);
  // Closes all spares and keeps their files: a later start finds their space.
  void leave_all();

  // Returns the reason of the last failure, for the log.
  const std::string& why() const { return why_; }

 private:
  void remove(const Spare& spare);
  void stop_growing();
  // Subtracts its bytes from the sums.
  void take_off(const Spare& spare);
  bool remove_file(std::uint64_t number);
  void remove_left_over();
  DiskStatus open_first();
  DiskStatus grow(Spare& spare, std::uint64_t bytes);
  void close(Spare& spare);
  DiskStatus fail(DiskStatus status) noexcept;

  // Files that could not be removed; retried when one is made or begun.
  static constexpr std::size_t kLeftOverMax = 64;

  Disk& disk_;
  std::deque<Spare> spares_;
  std::vector<std::uint64_t> left_over_;
  std::uint64_t next_number_ = 1;
  bool leaves_names_out_ = false;
  // Exclusive upper bound of numbers whose files may be left over.
  std::uint64_t left_over_until_ = 0;
  std::uint64_t room_ = 0;
  std::uint64_t allocated_ = 0;
  std::string why_;
};

}  // namespace haricot::binlog
