// Files that are ready to be begun: created, and with their space taken.
//
// What has to be recorded when the disk is full goes where space was taken in advance, and a file
// that is there already is begun without waiting. Spares have a name that no server reads.
//
// A spare has no descriptor. Two have one for a while: the last one while its space is taken step
// by step, and the first one while it is about to be begun.

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
  std::uint64_t number = 0;            // In its name. The file that is made from it has another.
  std::uint64_t allocated = 0;
  std::uint64_t wanted = 0;  // More than `allocated` as long as it is growing.
};

class Spares {
 public:
  // The disk outlives this.
  explicit Spares(Disk& disk) : disk_(disk) {}
  Spares(const Spares&) = delete;
  Spares& operator=(const Spares&) = delete;

  // A number from which on no file has had one: spares are named by them.
  void set_next_number(std::uint64_t number) { next_number_ = number; }

  bool empty() const { return spares_.empty(); }
  std::size_t size() const { return spares_.size(); }
  const Spare& first() const { return spares_.front(); }
  const Spare& last() const { return spares_.back(); }
  // How many bytes of records they take, together and the one.
  std::uint64_t room() const { return room_; }
  static std::uint64_t room_of(const Spare& spare) { return room_of(spare.allocated); }
  static std::uint64_t room_of(std::uint64_t allocated) {
    constexpr std::uint64_t kFrameBytes = kFirstRecordOffset + SegmentWriter::kEndBytes;
    return allocated > kFrameBytes ? allocated - kFrameBytes : 0;
  }
  std::uint64_t allocated() const { return allocated_; }

  // From now on no spare gets the name of one that could not be removed: the disk replaces no file.
  void leave_names_out() { leaves_names_out_ = true; }

  // Makes another one of that many bytes, or begins to: of its space it takes at most
  // `at_once_bytes`, and grow_last() the rest. On anything but ok nothing has changed, and why()
  // says why. Requires: none is growing.
  [[nodiscard]] DiskStatus add(std::uint64_t bytes, std::uint64_t at_once_bytes);
  // Whether the last one has not got all of its space yet.
  bool is_growing() const { return !spares_.empty() && last().allocated < last().wanted; }
  // Takes more of its space, at most so many bytes. On anything but ok it stays as large as it is
  // and grows no more. Requires: it is growing.
  [[nodiscard]] DiskStatus grow_last(std::uint64_t bytes_max);
  // Sees to it that the first one is open and at least that large: puts one in front that is, or
  // makes one larger, which grows no more then. One whose file is gone is made again. On anything
  // but ok none is larger than before. Requires: there is one.
  [[nodiscard]] DiskStatus prepare_first(std::uint64_t bytes);
  // The size of the smallest one that is at least that large; 0 if none is.
  std::uint64_t least_with_room(std::uint64_t bytes) const;
  // Takes out the first one; its file is the caller's. Requires: it was prepared.
  Spare take_first();
  // Closes and removes one that was taken out and could not be begun.
  void discard(const Spare& spare);
  // Removes the last one, or all.
  void remove_last();
  void remove_all();
  // Forgets those whose file is not among these names, which are sorted.
  void forget_those_gone(const std::vector<std::string>& names);
  // Closes all and leaves the files where they are: a later start finds their space.
  void leave_all();

  // Why the last call that did not end ok did not: for the log.
  const std::string& why() const { return why_; }

 private:
  void remove(const Spare& spare);
  void stop_growing();
  // What it has counts no more.
  void take_off(const Spare& spare);
  bool remove_file(std::uint64_t number);
  void remove_left_over();
  DiskStatus open_first();
  DiskStatus grow(Spare& spare, std::uint64_t bytes);
  void close(Spare& spare);
  DiskStatus fail(DiskStatus status) noexcept;

  // Files that could not be removed: it is tried again whenever one is made or begun.
  static constexpr std::size_t kLeftOverMax = 64;

  Disk& disk_;
  std::deque<Spare> spares_;
  std::vector<std::uint64_t> left_over_;
  std::uint64_t next_number_ = 1;
  bool leaves_names_out_ = false;
  std::uint64_t left_over_until_ = 0;  // Above each number whose file may be left over.
  std::uint64_t room_ = 0;
  std::uint64_t allocated_ = 0;
  std::string why_;
};

}  // namespace haricot::binlog
