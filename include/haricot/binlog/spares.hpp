// Files that are ready to be begun: created, and with their space taken.
//
// What has to be recorded when the disk is full goes where space was taken in advance, and a file
// that is there already is begun without waiting. Spares have a name that no server reads.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/segment_writer.hpp"

namespace haricot::binlog {

struct Spare {
  FileHandle file = FileHandle::none;
  std::uint64_t number = 0;  // That it will have.
  std::uint64_t allocated = 0;
};

class Spares {
 public:
  // The disk outlives this.
  explicit Spares(Disk& disk) : disk_(disk) {}
  Spares(const Spares&) = delete;
  Spares& operator=(const Spares&) = delete;

  // The number that the next spare gets; those behind it follow.
  void set_next_number(std::uint64_t number) { next_number_ = number; }

  bool empty() const { return spares_.empty(); }
  const Spare& first() const { return spares_.front(); }
  const Spare& last() const { return spares_.back(); }
  // How many bytes of records they take, together and the one.
  std::uint64_t room() const { return room_; }
  static std::uint64_t room_of(const Spare& spare) {
    return spare.allocated - kFirstRecordOffset - SegmentWriter::kEndBytes;
  }
  std::uint64_t allocated() const { return allocated_; }

  // Makes another one of that many bytes. On anything but ok nothing has changed.
  [[nodiscard]] DiskStatus add(std::uint64_t bytes);
  // Makes the first one larger. Requires: there is one.
  [[nodiscard]] DiskStatus grow_first(std::uint64_t bytes);
  // Takes out the first one; its file is the caller's.
  Spare take_first();
  // Closes and removes one that was taken out and could not be begun.
  void discard(const Spare& spare);
  // Removes the last one, or all.
  void remove_last();
  void remove_all();

 private:
  void remove(const Spare& spare);
  bool remove_file(std::uint64_t number);

  // Files that could not be removed: it is tried again whenever one is made.
  static constexpr std::size_t kLeftOverMax = 64;

  Disk& disk_;
  std::deque<Spare> spares_;
  std::vector<std::uint64_t> left_over_;
  std::uint64_t next_number_ = 1;
  std::uint64_t room_ = 0;
  std::uint64_t allocated_ = 0;
};

}  // namespace haricot::binlog
