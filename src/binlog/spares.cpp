#include "haricot/binlog/spares.hpp"

#include <new>

#include "haricot/base/check.hpp"

namespace haricot::binlog {

DiskStatus Spares::add(std::uint64_t bytes) {
  CHECK(bytes > kFirstRecordOffset + SegmentWriter::kEndBytes);
  std::erase_if(left_over_, [this](std::uint64_t number) { return remove_file(number); });
  Spare spare{FileHandle::none, next_number_, bytes};
  DiskStatus status = DiskStatus::full;
  try {
    status = disk_.create(spare_name(spare.number), spare.file);
  } catch (const std::bad_alloc&) {
    // Without memory for a name it is as without space.
  }
  if (status != DiskStatus::ok) return status;
  std::erase(left_over_, spare.number);  // It is in use again.
  status = disk_.allocate(spare.file, bytes);
  if (status == DiskStatus::ok) {
    try {
      spares_.push_back(spare);
      room_ += room_of(spare);
      allocated_ += bytes;
      ++next_number_;
      return status;
    } catch (const std::bad_alloc&) {
      status = DiskStatus::full;
    }
  }
  disk_.close(spare.file);
  // A file that cannot be removed is emptied by the next try, which takes the same name.
  (void)remove_file(spare.number);
  return status;
}

// False: it is there, as far as is known.
bool Spares::remove_file(std::uint64_t number) {
  try {
    return disk_.remove(spare_name(number)) == DiskStatus::ok;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

DiskStatus Spares::grow_first(std::uint64_t bytes) {
  Spare& spare = spares_.front();
  if (spare.allocated >= bytes) return DiskStatus::ok;
  const DiskStatus status = disk_.allocate(spare.file, bytes);
  if (status != DiskStatus::ok) return status;
  room_ += bytes - spare.allocated;
  allocated_ += bytes - spare.allocated;
  spare.allocated = bytes;
  return DiskStatus::ok;
}

Spare Spares::take_first() {
  const Spare spare = spares_.front();
  spares_.pop_front();
  room_ -= room_of(spare);
  allocated_ -= spare.allocated;
  return spare;
}

void Spares::remove_last() {
  const Spare spare = spares_.back();
  spares_.pop_back();
  room_ -= room_of(spare);
  allocated_ -= spare.allocated;
  next_number_ = spare.number;
  remove(spare);
}

void Spares::discard(const Spare& spare) {
  remove(spare);
}

void Spares::remove(const Spare& spare) {
  disk_.close(spare.file);
  if (remove_file(spare.number)) return;
  if (left_over_.size() >= kLeftOverMax) return;
  try {
    left_over_.push_back(spare.number);
  } catch (const std::bad_alloc&) {
    // It stays until the next start, which removes what it finds.
  }
}

void Spares::remove_all() {
  while (!spares_.empty()) remove_last();
}

}  // namespace haricot::binlog
